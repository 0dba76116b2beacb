use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;

#[test]
fn adds() {
    assert_eq!(calc::add(2, 3), 5);
}

#[test]
fn connects() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let other = thread::spawn(move || TcpStream::connect(address).unwrap());
    listener.accept().unwrap();
    other.join().unwrap();
}

#[test]
fn runs_a_command() {
    assert_eq!(Command::new("echo").arg("yes").output().unwrap().stdout, b"yes\n");
}
