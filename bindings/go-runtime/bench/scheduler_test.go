package bench

import (
	"fmt"
	"sync"
	"testing"
)

// Goroutines started and joined in bursts, which go through the run queue of who starts them: the scheduler without JSON.
func BenchmarkScheduler(b *testing.B) {
	for _, burst := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("start/%d", burst), func(b *testing.B) {
			for left := b.N; left > 0; left -= burst {
				var done sync.WaitGroup
				for range min(burst, left) {
					done.Go(func() {})
				}
				done.Wait()
			}
		})
	}
}
