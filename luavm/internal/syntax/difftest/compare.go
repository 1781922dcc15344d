package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"clm/luavm/internal/syntax/difftest/internal/gen"
	"clm/luavm/internal/syntax/internal/reference"
)

// batch is how many programs one process of the reference runs.
const batch = 400

// A comparison counts what it finds and reports it to out.
type comparison struct {
	lua  string
	out  io.Writer
	show int

	same, different, skipped int
}

// seeds compares n generated programs.
func (c *comparison) seeds(from uint64, n int) error {
	var bad []uint64
	for n > 0 {
		programs := make([]string, min(n, batch))
		for i := range programs {
			programs[i] = gen.Program(from + uint64(i))
		}
		differing, err := c.compare(programs)
		if err != nil {
			return err
		}
		for _, i := range differing {
			bad = append(bad, from+uint64(i))
			if len(bad) > c.show {
				continue
			}
			fmt.Fprintf(c.out, "seed %d differs\n", from+uint64(i))
			if err := c.explain(programs[i]); err != nil {
				return err
			}
		}
		from += uint64(len(programs))
		if n -= len(programs); n > 0 && (c.same+c.different+c.skipped)%(25*batch) == 0 {
			fmt.Fprintf(c.out, "same %d, different %d, skipped %d so far\n", c.same, c.different, c.skipped)
		}
	}
	fmt.Fprintf(c.out, "same %d, different %d, skipped %d\n", c.same, c.different, c.skipped)
	if len(bad) > 0 {
		fmt.Fprintln(c.out, "seeds", bad[:min(len(bad), 40)])
	}
	return nil
}

func (c *comparison) files(names []string) error {
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		want, err := reference.Run(c.lua, string(b))
		if err != nil {
			return err
		}
		got := ours(string(b))
		if want == got {
			c.same++
			continue
		}
		c.different++
		fmt.Fprintf(c.out, "%s differs\n", name)
		c.report(want, got)
	}
	return nil
}

// compare runs programs on both sides at once and lists those that differ.
// Programs that the reference does not finish are skipped.
func (c *comparison) compare(programs []string) (differing []int, err error) {
	b, err := reference.Start(c.lua, programs)
	if err != nil {
		return nil, err
	}
	got := make([]string, len(programs))
	for i, p := range programs {
		got[i] = ours(p)
	}
	for i, want := range b.Wait() {
		switch {
		case !usable(want):
			c.skipped++
			if strings.HasPrefix(want, "error: ") && want != reference.OverBudget {
				fmt.Fprintf(c.out, "the reference refuses a program: %s", want)
			}
		case want == got[i]:
			c.same++
		default:
			c.different++
			differing = append(differing, i)
		}
	}
	return differing, nil
}

func usable(want string) bool { return want != "" && !strings.HasPrefix(want, "error: ") }

// explain cuts a differing program down and prints it with the lines that differ.
func (c *comparison) explain(program string) error {
	small, err := c.reduce(program)
	if err != nil {
		return err
	}
	want, err := reference.Run(c.lua, small)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.out, small[max(strings.Index(small, gen.Main), 0):])
	c.report(want, ours(small))
	return nil
}

// report prints the first line that differs.
func (c *comparison) report(want, got string) {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		a, b := "(end)", "(end)"
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			fmt.Fprintf(c.out, "  5.4 : %.300s\n  ours: %.300s\n", a, b)
			return
		}
	}
}

// reduce removes lines, and pairs of lines, while the two sides differ.
func (c *comparison) reduce(program string) (string, error) {
	lines := strings.Split(strings.TrimSpace(program), "\n")
	head := max(slices.Index(lines, gen.Main), 0)
	for size := len(lines) / 2; size >= 1; {
		var tries [][]string
		for i := head; i+size <= len(lines); i++ {
			tries = append(tries, cut(lines, i, i+size))
		}
		if size == 1 {
			for i := head; i < len(lines); i++ {
				for j := i + 2; j < min(len(lines), i+14); j++ {
					tries = append(tries, cut(cut(lines, j, j+1), i, i+1))
				}
			}
		}
		found, err := c.firstDiffering(tries)
		if err != nil {
			return "", err
		}
		if found == nil {
			size /= 2
			continue
		}
		lines = found
	}
	return strings.Join(lines, "\n"), nil
}

func cut(lines []string, i, j int) []string {
	return append(append([]string{}, lines[:i]...), lines[j:]...)
}

func (c *comparison) firstDiffering(tries [][]string) ([]string, error) {
	programs := make([]string, len(tries))
	for i, t := range tries {
		programs[i] = strings.Join(t, "\n")
	}
	b, err := reference.Start(c.lua, programs)
	if err != nil {
		return nil, err
	}
	for i, want := range b.Wait() {
		if usable(want) && ours(programs[i]) != want {
			return tries[i], nil
		}
	}
	return nil, nil
}
