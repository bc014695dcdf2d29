// The rows of BLQ's Table 3 in Go: prints nanoseconds for each round.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
)

func main() {
	rounds, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	row := map[string]func(int){"mutex": mutex, "yield": yield, "condvar": condvar, "spawn": spawn}[os.Args[1]]
	start := time.Now()
	row(rounds)
	fmt.Println(float64(time.Since(start).Nanoseconds()) / float64(rounds))
}

func check(ok bool) {
	if !ok {
		panic("a wrong result")
	}
}

func mutex(rounds int) {
	var mutex sync.Mutex
	count := 0
	for i := 0; i < rounds; i++ {
		mutex.Lock()
		count++
		mutex.Unlock()
	}
	check(count == rounds)
}

func two(body func(me int)) {
	var group sync.WaitGroup
	group.Add(2)
	for me := 0; me < 2; me++ {
		go func(me int) { body(me); group.Done() }(me)
	}
	group.Wait()
}

func yield(rounds int) {
	two(func(me int) {
		for i := 0; i < rounds; i++ {
			runtime.Gosched()
		}
	})
}

func condvar(rounds int) {
	var mutex sync.Mutex
	changed := sync.NewCond(&mutex)
	turn := 0
	two(func(me int) {
		mutex.Lock()
		for i := 0; i < rounds; i++ {
			for turn != me {
				changed.Wait()
			}
			turn = 1 - me
			changed.Signal()
		}
		mutex.Unlock()
	})
	check(turn == 0)
}

func spawn(rounds int) {
	sum := 0
	for i := 0; i < rounds; i++ {
		var group sync.WaitGroup
		group.Add(1)
		go func() { sum++; group.Done() }()
		group.Wait()
	}
	check(sum == rounds)
}
