// The program of the container that keeps the namespaces of a pod. It waits to be told to end, and takes leave of processes whose
// parents have ended: in a pod whose containers share their process namespace it is the first process.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		reap()
	}
}

// One signal may stand for several processes.
func reap() {
	for {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err == syscall.EINTR {
			continue
		} else if err != nil || pid <= 0 {
			return
		}
	}
}
