"""What test suites need of their host, beside their language: each is a thing that a sandbox has broken for somebody."""
import asyncio
import ctypes
import fcntl
import locale
import mmap
import multiprocessing
import multiprocessing.shared_memory
import os
import pty
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest

from calc import add


def square(number):
    return number * number


def put(queue, value):
    queue.put(value)


def echo_once(server):
    connection, _ = server.accept()
    with connection:
        connection.sendall(connection.recv(64))


class Calc(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(2, 3), 5)


class Network(unittest.TestCase):
    def converse(self, family, address):
        with socket.socket(family) as server, socket.socket(family) as client:
            server.settimeout(10)
            client.settimeout(10)
            server.bind(address)
            server.listen()
            thread = threading.Thread(target=echo_once, args=(server,))
            thread.start()
            client.connect(server.getsockname())
            client.sendall(b"hello")
            self.assertEqual(client.recv(64), b"hello")
            thread.join()

    def test_loopback(self):
        self.converse(socket.AF_INET, ("127.0.0.1", 0))
        self.converse(socket.AF_INET6, ("::1", 0))

    def test_datagrams(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            server.settimeout(10)
            server.bind(("127.0.0.1", 0))
            client.sendto(b"hello", server.getsockname())
            self.assertEqual(server.recv(64), b"hello")

    def test_unix(self):
        with tempfile.TemporaryDirectory() as directory:
            self.converse(socket.AF_UNIX, directory + "/socket")
        self.converse(socket.AF_UNIX, "\0proctor-abstract")
        left, right = socket.socketpair()
        with left, right:
            left.send(b"hello")
            self.assertEqual(right.recv(64), b"hello")

    def test_names(self):
        self.assertEqual(socket.gethostbyname("localhost"), "127.0.0.1")
        self.assertTrue(socket.gethostbyname(socket.gethostname()).startswith("127."))
        self.assertTrue(socket.getaddrinfo("localhost", 80))
        self.assertIn("lo", [name for _, name in socket.if_nameindex()])
        with self.assertRaises(OSError):
            socket.getaddrinfo("name.invalid", 80)

    def test_asyncio(self):
        async def shell():
            process = await asyncio.create_subprocess_exec("echo", "yes", stdout=subprocess.PIPE)
            return (await process.communicate())[0]
        self.assertEqual(asyncio.run(shell()), b"yes\n")


class Processes(unittest.TestCase):
    def test_pool(self):
        with multiprocessing.Pool(2) as pool:
            self.assertEqual(pool.map(square, range(5)), [0, 1, 4, 9, 16])

    def test_queue(self):
        for method in "fork", "spawn", "forkserver":
            context = multiprocessing.get_context(method)
            queue = context.Queue()
            process = context.Process(target=put, args=(queue, method))
            process.start()
            self.assertEqual(queue.get(timeout=30), method)
            process.join()

    def test_shared_memory(self):
        memory = multiprocessing.shared_memory.SharedMemory(create=True, size=1 << 20)
        try:
            memory.buf[:5] = b"hello"
            other = multiprocessing.shared_memory.SharedMemory(memory.name)
            self.assertEqual(bytes(other.buf[:5]), b"hello")
            other.close()
        finally:
            memory.close()
            memory.unlink()

    def test_threads(self):
        threads = [threading.Thread(target=square, args=(1,)) for _ in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def test_terminal(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execvp("tty", ["tty"])
        self.assertIn(b"/dev/pts/", os.read(terminal, 1024))
        os.waitpid(pid, 0)
        os.close(terminal)

    @unittest.skipUnless(shutil.which("script"), "script is not installed")
    def test_script(self):
        run = subprocess.run(["script", "-qec", "test -t 1 && echo yes", "/dev/null"], stdin=subprocess.DEVNULL,
                             capture_output=True, timeout=30)
        self.assertEqual((run.returncode, run.stdout), (0, b"yes\r\n"))

    def test_group(self):
        process = subprocess.Popen(["sleep", "60"], start_new_session=True)
        os.killpg(process.pid, signal.SIGTERM)
        self.assertEqual(process.wait(30), -signal.SIGTERM)

    def test_own(self):
        self.assertEqual(os.path.realpath("/proc/self/exe"), os.path.realpath(sys.executable))
        self.assertIn("0", os.listdir("/proc/self/fd"))
        self.assertTrue(os.path.exists("/dev/fd/0"))
        self.assertGreaterEqual(len(os.sched_getaffinity(0)), 1)

    def test_memory(self):
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(b"\xc3")
        page.close()
        numbers = (ctypes.c_int * 3)(3, 1, 2)
        compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
        ctypes.CDLL(None).qsort(numbers, 3, ctypes.sizeof(ctypes.c_int), compare(lambda a, b: a[0] - b[0]))
        self.assertEqual(list(numbers), [1, 2, 3])


class Files(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.directory)

    def test_links_and_renames(self):
        os.makedirs("one")
        os.makedirs("two/three")
        with open("one/file", "w") as file:
            file.write("hello")
        os.link("one/file", "two/link")
        self.assertEqual(os.stat("two/link").st_nlink, 2)
        os.symlink("../one/file", "two/symbolic")
        os.rename("one/file", "two/three/file")
        os.rename("two/three", "one/three")
        with open("one/three/file") as file:
            self.assertEqual(file.read(), "hello")

    def test_fifo(self):
        os.mkfifo("fifo")
        process = subprocess.Popen(["sh", "-c", "echo hello > fifo"])
        with open("fifo") as file:
            self.assertEqual(file.read(), "hello\n")
        self.assertEqual(process.wait(10), 0)

    def test_locks_and_modes(self):
        with open("file", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            fcntl.lockf(file, fcntl.LOCK_EX)
        os.chmod("file", 0o4755)
        os.utime("file", (1, 2))
        self.assertEqual(os.stat("file").st_mtime, 2)
        with open("file", "w") as file:
            os.posix_fallocate(file.fileno(), 0, 65536)

    def test_sqlite(self):
        base, other = sqlite3.connect("base.sqlite"), sqlite3.connect("base.sqlite")
        self.assertEqual(base.execute("pragma journal_mode=wal").fetchone(), ("wal",))
        base.execute("create table numbers (number)")
        base.executemany("insert into numbers values (?)", [(each,) for each in range(100)])
        base.commit()
        self.assertTrue(os.path.exists("base.sqlite-wal"))
        self.assertEqual(other.execute("select sum(number) from numbers").fetchone(), (4950,))
        base.close()
        other.close()

    def test_places(self):
        for place in "/tmp", "/dev/shm", "/home/candidate", "/workspace":
            with tempfile.NamedTemporaryFile(dir=place) as file:
                file.write(b"hello")
        with open("/dev/null", "w") as null, open("/dev/urandom", "rb") as random:
            null.write("hello")
            self.assertEqual(len(random.read(8)), 8)

    def test_locale(self):
        locale.setlocale(locale.LC_ALL, "C.UTF-8")
        with open("naïve", "w") as file:
            file.write("é")
        self.assertIn("naïve", os.listdir("."))

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_git(self):
        def git(*words):
            return subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words], check=True,
                                  capture_output=True, text=True).stdout
        git("init", "-q", "-b", "main", ".")
        with open("file", "w") as file:
            file.write("hello\n")
        git("add", "file")
        git("commit", "-q", "-m", "one")
        self.assertEqual(git("status", "--porcelain"), "")
        git("worktree", "add", "-q", "../" + os.path.basename(self.directory) + "-two")
        git("worktree", "remove", "../" + os.path.basename(self.directory) + "-two")


if __name__ == "__main__":
    sys.exit(unittest.main())
