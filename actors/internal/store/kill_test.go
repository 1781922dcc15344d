package store

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"clm/llm"
)

// writer is the process that TestKill kills: turns of messages of any size,
// each turn acknowledged on standard output when it is synced.
func writer(dir string) {
	sess, err := New(dir).Create(time.Now(), Meta{})
	if err != nil {
		panic(err)
	}
	var all []llm.Message
	for n := 0; ; {
		for range 1 + rand.IntN(3) {
			m := llm.Message{Role: llm.RoleUser, Content: fmt.Sprintf("%d %s", n, strings.Repeat("é", rand.IntN(100_000)))}
			if err := sess.Append(m); err != nil {
				panic(err)
			}
			all = append(all, m)
			n++
		}
		if rand.IntN(4) == 0 {
			if err := sess.Rewrite(all); err != nil {
				panic(err)
			}
		} else if err := sess.Sync(); err != nil {
			panic(err)
		}
		fmt.Println(n)
	}
}

// TestKill kills a writer at random moments: no acknowledged turn may be lost,
// and the file must be good to go on with. STORE_KILLS sets the rounds.
func TestKill(t *testing.T) {
	rounds := 15
	if n, err := strconv.Atoi(os.Getenv("STORE_KILLS")); err == nil {
		rounds = n
	}
	for range rounds {
		dir := t.TempDir()
		acked := killWriter(t, dir)
		s := New(dir)
		id, err := s.Newest()
		if err != nil {
			if acked > 0 {
				t.Fatalf("%d messages were acknowledged: %v", acked, err)
			}
			continue
		}
		sess, loaded, err := s.Open(id)
		must(t, err)
		for i, m := range loaded.Messages {
			if !strings.HasPrefix(m.Content, fmt.Sprintf("%d ", i)) {
				t.Fatalf("message %d is %.20q", i, m.Content)
			}
		}
		if n := len(loaded.Messages); n < acked || loaded.Skipped > 0 {
			t.Fatalf("%d messages of %d acknowledged ones, %d bad lines", n, acked, loaded.Skipped)
		}
		must(t, sess.Append(user("after")))
		must(t, sess.Close())
		again, err := s.Load(id)
		must(t, err)
		if len(again.Messages) != len(loaded.Messages)+1 || again.Cut+again.Skipped > 0 {
			t.Fatalf("after going on: %d messages of %d, cut %d, bad %d", len(again.Messages), len(loaded.Messages)+1, again.Cut, again.Skipped)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); len(left) > 0 {
			t.Fatalf("%v is left", left)
		}
	}
}

// killWriter runs a writer for a random time and gives the last number that it
// acknowledged.
func killWriter(t *testing.T, dir string) int {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STORE_TEST_WRITER="+dir)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	timer := time.AfterFunc(20*time.Millisecond+rand.N(60*time.Millisecond), func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	acked := 0
	for in := bufio.NewScanner(out); in.Scan(); {
		if n, err := strconv.Atoi(in.Text()); err == nil {
			acked = n
		}
	}
	_ = cmd.Wait()
	return acked
}
