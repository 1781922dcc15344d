package luavm_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"clm/luavm"
)

// BenchmarkCrowd is a short call of each of 500 goroutines that wait for other work between their calls, alone and
// beside plugins that compute on and on: half of all calls take at most p50.
func BenchmarkCrowd(b *testing.B) {
	const crowd = 500
	for _, loops := range []int{0, 4, 200} {
		b.Run(fmt.Sprintf("loops=%d", loops), func(b *testing.B) {
			ctx, cancel := context.WithCancel(context.Background())
			var spinning, calling sync.WaitGroup
			for range loops {
				v := load(b, luavm.Options{}, register("spin", `while true do end`))
				spinning.Go(func() {
					for ctx.Err() == nil {
						v.Call("spin", "").Main().Step(ctx, luavm.Answer{})
					}
				})
			}
			vms := make([]*luavm.VM, crowd)
			for i := range vms {
				vms[i] = load(b, luavm.Options{}, helloPlugin)
			}
			var left atomic.Int64
			left.Store(int64(b.N) * crowd)
			times := make([][]time.Duration, crowd)
			b.ResetTimer()
			start := time.Now()
			for i, v := range vms {
				calling.Go(func() {
					ask, done := make(chan bool), make(chan bool)
					defer close(ask)
					go func() {
						data := make([]byte, 32<<10)
						for range ask {
							sum := sha256.Sum256(data)
							copy(data, sum[:])
							done <- true
						}
					}()
					for left.Add(-1) >= 0 {
						ask <- true
						<-done
						start := time.Now()
						v.Call("hello", `{"name":"x"}`).Main().Step(context.Background(), luavm.Answer{})
						times[i] = append(times[i], time.Since(start))
					}
				})
			}
			calling.Wait()
			wall := time.Since(start)
			cancel()
			spinning.Wait()
			all := slices.Sorted(slices.Values(slices.Concat(times...)))
			b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
			b.ReportMetric(float64(len(all))/wall.Seconds(), "calls/s")
		})
	}
}
