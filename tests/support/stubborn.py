"""A fake service that reports that it is serving and ignores SIGTERM."""

import signal

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("stubborn at http://127.0.0.1:1", flush=True)
    signal.pause()
