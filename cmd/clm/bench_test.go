package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"clm/actors"
	"clm/config"
	"clm/llm/llmtest"
)

// program builds clm as it is released.
func program(b *testing.B) string {
	b.Helper()
	bin := filepath.Join(b.TempDir(), "clm")
	out, err := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, ".").CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return bin
}

// measure runs a command b.N times and reports CPU time and memory beside the
// time that passed.
func measure(b *testing.B, home, bin string, args ...string) {
	b.Helper()
	var cpu time.Duration
	for b.Loop() {
		cmd := exec.Command(bin, args...)
		cmd.Env = []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home + "/config", "XDG_STATE_HOME=" + home + "/state", "PATH=" + os.Getenv("PATH")}
		if err := cmd.Run(); err != nil {
			b.Fatalf("clm %v: %v", args, err)
		}
		cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	b.ReportMetric(float64(cpu.Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

func BenchmarkVersion(b *testing.B) { measure(b, b.TempDir(), program(b), "-V") }

// BenchmarkOneshot is clm -o against a server that answers at once.
func BenchmarkOneshot(b *testing.B) {
	s, err := llmtest.ListenTCP(llmtest.New())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	measure(b, b.TempDir(), program(b), "-u", s.URL, "-m", "mock", "-o", "hi")
}

// BenchmarkOneshotAmongMany is the same with what setup writes and 1,000
// sessions stored.
func BenchmarkOneshotAmongMany(b *testing.B) {
	s, err := llmtest.ListenTCP(llmtest.New())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	home := b.TempDir()
	setUp(b, home+"/config")
	if err := os.MkdirAll(home+"/state/clm", 0o700); err != nil {
		b.Fatal(err)
	}
	for i := range 1000 {
		id := fmt.Sprintf("20260101-%06d-%08x", i, i)
		if err := os.WriteFile(home+"/state/clm/"+id+".jsonl", fmt.Appendf(nil, "{\"type\":\"meta\",\"v\":1,\"id\":%q}\n", id), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	measure(b, home, program(b), "-u", s.URL, "-m", "mock", "-o", "hi")
}

// setUp is clm setup.
func setUp(b *testing.B, config string) *Program {
	b.Helper()
	p := &Program{Env: []string{"XDG_CONFIG_HOME=" + config}, Stdout: io.Discard, Stderr: io.Discard}
	if err := p.setup(); err != nil {
		b.Fatal(err)
	}
	return p
}

// BenchmarkConfig reads what setup writes, with the profile of the agent that
// may be started.
func BenchmarkConfig(b *testing.B) {
	p := setUp(b, b.TempDir())
	b.ReportAllocs()
	for b.Loop() {
		cfg, _, err := config.Load(config.Options{Env: p.Env})
		if err != nil {
			b.Fatal(err)
		}
		for _, name := range cfg.Subagents {
			if _, _, err := cfg.Profile(name); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkLoadPlugins loads the plugins that setup writes.
func BenchmarkLoadPlugins(b *testing.B) {
	home := b.TempDir()
	setUp(b, home)
	o := actors.PluginOptions{Dirs: []string{home + "/clm/plugins"}, Private: []string{home + "/clm", home + "/state"}}
	b.ReportAllocs()
	for b.Loop() {
		if _, failed := actors.LoadPlugins(context.Background(), o); failed != nil {
			b.Fatal(failed)
		}
	}
}

// BenchmarkRun is -o without the process: what the program itself does.
func BenchmarkRun(b *testing.B) {
	s, err := llmtest.ListenTCP(llmtest.New())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	home := b.TempDir()
	for b.Loop() {
		p := &Program{
			Args: []string{"-u", s.URL, "-m", "mock", "-o", "hi"}, Env: []string{"HOME=" + home},
			Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard,
		}
		if status := p.Run(); status != 0 {
			b.Fatalf("status %d", status)
		}
	}
}
