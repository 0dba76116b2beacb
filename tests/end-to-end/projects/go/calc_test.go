package calc

import (
	"net"
	"os/exec"
	"testing"
)

func TestAdd(t *testing.T) {
	if Add(2, 3) != 5 {
		t.Fatal("2 + 3 is not 5")
	}
}

func TestInterfaces(t *testing.T) {
	interfaces, err := net.Interfaces()
	if err != nil || len(interfaces) == 0 {
		t.Fatal(interfaces, err)
	}
}

func TestListen(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", "localhost:0"} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		connection, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		connection.Close()
		listener.Close()
	}
}

func TestCommand(t *testing.T) {
	if out, err := exec.Command("echo", "yes").Output(); err != nil || string(out) != "yes\n" {
		t.Fatal(string(out), err)
	}
}
