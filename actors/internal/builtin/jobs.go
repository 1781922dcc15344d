package builtin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"clm/actors/internal/tool"
	"clm/llm"
)

// maxJobs bounds the background jobs of a set that run at the same time.
const maxJobs = 16

// jobs are the background jobs of a set.
type jobs struct {
	wg sync.WaitGroup

	mu     sync.Mutex
	ctx    context.Context // made with the first job
	cancel context.CancelFunc
	closed bool
	live   map[int]string // names of those that run, by their number
	last   int            // number of the newest job
}

func (j *jobs) close() {
	j.mu.Lock()
	j.closed = true
	if j.cancel != nil {
		j.cancel()
	}
	j.mu.Unlock()
	j.wg.Wait()
}

// begin counts a job in, and gives it its number, its name and the context of
// jobs.
func (j *jobs) begin(label string) (context.Context, int, string, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.closed:
		return nil, 0, "", errors.New("the agent is closing; no background job starts")
	case len(j.live) >= maxJobs:
		return nil, 0, "", fmt.Errorf("%d background jobs run already; wait until one ends", maxJobs)
	}
	if j.ctx == nil {
		j.ctx, j.cancel = context.WithCancel(context.Background())
		j.live = map[int]string{}
	}
	j.last++
	name := fmt.Sprintf("background job %d", j.last)
	if label != "" {
		name += " (" + llm.OneLine(label, 200) + ")"
	}
	j.live[j.last] = name
	j.wg.Add(1)
	return j.ctx, j.last, name, nil
}

func (j *jobs) end(n int) {
	j.mu.Lock()
	delete(j.live, n)
	j.mu.Unlock()
	j.wg.Done()
}

// Jobs names the background jobs that run now, the oldest first.
func (s *Set) Jobs() []string {
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	var out []string
	for _, n := range slices.Sorted(maps.Keys(s.jobs.live)) {
		out = append(out, s.safe(s.jobs.live[n]))
	}
	return out
}

var jobSchema = object(`"command":{"type":"string","description":"command for the shell"},`+
	`"label":{"type":"string","description":"short name of the job, repeated with its result"}`, "command")

func (s *Set) bgExec() tool.Tool {
	return tool.Tool{
		Name: "bg_exec",
		Description: "Start a shell command in the background and go on at once. " +
			"Its output arrives as a message when it ends; it is ended when the agent is.",
		Schema: jobSchema,
		Run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
			var args struct{ Command, Label string }
			if err := decode(call.Args, &args); err != nil {
				return tool.Result{}, err
			}
			if strings.TrimSpace(args.Command) == "" {
				return tool.Result{}, errors.New("the argument command is missing")
			}
			if err := ctx.Err(); err != nil {
				return tool.Result{}, err
			}
			name, err := s.startJob(args.Command, args.Label)
			if err != nil {
				return tool.Result{}, err
			}
			return tool.Result{Text: s.safe(name + " started; its result will arrive as a message")}, nil
		},
		Reason: func(string) string { return "in the background, in " + s.opts.Dir },
	}
}

// startJob starts a job and gives what to call it.
func (s *Set) startJob(command, label string) (string, error) {
	ctx, n, name, err := s.jobs.begin(label)
	if err != nil {
		return "", err
	}
	r, err := s.start(command, "")
	if err != nil {
		s.jobs.end(n)
		return "", err
	}
	begun := s.opts.Clock.Now()
	go func() {
		defer s.jobs.end(n)
		text, err := s.finish(ctx, r, 0)
		if err == nil {
			s.opts.Notify(s.safe(fmt.Sprintf("%s ended after %s:\n%s", name, s.opts.Clock.Now().Sub(begun).Round(time.Millisecond), text)))
		}
	}()
	return name, nil
}
