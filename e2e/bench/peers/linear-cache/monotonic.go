package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic gives a time in nanoseconds of the clock that Node.js calls process.hrtime.
func monotonic(at time.Time) int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return now.Nano() - time.Since(at).Nanoseconds()
}
