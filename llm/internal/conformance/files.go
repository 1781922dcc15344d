package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"clm/llm"
	"clm/llm/internal/sse"
	"clm/llm/internal/wire"
)

var update = flag.Bool("update", false, "rewrite in testdata what the tests want")

// Golden compares JSON with a file, which holds it indented.
func Golden(t *testing.T, file string, data []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", " "); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	b.WriteByte('\n')
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// Files plays each file of testdata/answers, which holds what a server sent
// and what comes of it: whole, byte by byte, split at every byte, and cut off
// there, which is never another answer unless the dialect's end is open. Most
// splits are compared by the events that they make, as a dialect's decoder sees
// nothing else.
func Files(t *testing.T, d Dialect) {
	d = d.prepared(t)
	files, err := filepath.Glob("testdata/answers/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			in := string(a.Files[0].Data)
			got := d.outcome(t, strings.NewReader(in), false)
			if *update {
				a.Files = append(a.Files[:1], txtar.File{Name: "want", Data: []byte(got)})
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(a.Files[1].Data); got != want {
				t.Fatalf("got\n%swant\n%s", got, want)
			}
			if again := d.outcome(t, iotest.OneByteReader(strings.NewReader(in)), false); again != got {
				t.Errorf("byte by byte:\n%s", again)
			}
			step := 1
			if testing.Short() {
				step = 13
			}
			whole := d.events(strings.NewReader(in))
			for i := 0; i < len(in); i += step {
				split := func() io.Reader { return io.MultiReader(strings.NewReader(in[:i]), strings.NewReader(in[i:])) }
				if events := d.events(split()); events != whole {
					t.Fatalf("split at %d:\n%s", i, events)
				}
				alone := i%sampled != 0
				if !alone || i%sampled == sampled/2 {
					if again := d.outcome(t, split(), alone); again != got {
						t.Fatalf("split at %d:\n%s", i, again)
					}
				}
				if cut := d.outcome(t, strings.NewReader(in[:i]), alone); !d.OpenEnd && answered(cut) && cut != got {
					t.Fatalf("cut off after %d bytes it is another answer:\n%s", i, cut)
				}
			}
		})
	}
}

// events is what a decoder gets of an answer.
func (d Dialect) events(body io.Reader) string {
	var log eventLog
	_, err := d.alone.Decode(body, func(*wire.Response) wire.Decoder { return &log })
	return fmt.Sprint(log.String(), err)
}

// eventLog is a decoder that writes down what it gets.
type eventLog struct{ strings.Builder }

func (l *eventLog) State() (whole, ended bool) { return false, false }

func (l *eventLog) Event(ev sse.Event) error {
	l.Write(ev.Name)
	l.WriteByte('|')
	l.Write(ev.Data)
	l.WriteByte('\n')
	return nil
}

func (l *eventLog) Whole(body []byte) error {
	l.Write(body)
	return nil
}

func (l *eventLog) Response() (*llm.Response, error) { return nil, nil }

func answered(outcome string) bool { return strings.Contains("\n"+outcome, "\nfinish ") }

// Fuzz feeds a client whatever there is: it must not depend on how the bytes
// come, and what it makes of them can be sent back.
func Fuzz(f *testing.F, d Dialect) {
	d = d.prepared(f)
	files, err := filepath.Glob("testdata/answers/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		if a, err := txtar.ParseFile(file); err == nil {
			f.Add(a.Files[0].Data)
		}
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got := d.outcome(t, strings.NewReader(string(in)), false)
		if again := d.outcome(t, iotest.OneByteReader(strings.NewReader(string(in))), true); again != got {
			t.Fatalf("byte by byte:\n%s\nwhole:\n%s", again, got)
		}
		resp, _, err := d.ask(t, serve(200, "", strings.NewReader(string(in))), true)
		if err != nil {
			return
		}
		h := llm.NewHistory([]llm.Message{{Role: llm.RoleUser, Content: "x"}, resp.Message})
		var sent string
		rt := recorder(&sent, d.Stream(plain))
		if _, err := d.client(t, rt).Complete(t.Context(), &llm.Request{Model: "m", Messages: h.Request(string(d.Kind) + "/m")}, nil); err != nil {
			t.Fatal(err)
		}
		if !json.Valid([]byte(sent)) {
			t.Fatalf("the answer makes a request that is not JSON: %s", sent)
		}
	})
}

// outcome reads an answer, with a request for it or alone, and writes down what
// came of it.
func (d Dialect) outcome(t testing.TB, body io.Reader, alone bool) string {
	t.Helper()
	var w watcher
	var resp *llm.Response
	var err error
	if alone {
		resp, err = d.alone.Decode(body, func(r *wire.Response) wire.Decoder { return d.Decoder(r, w.watch) })
	} else {
		req := &llm.Request{Model: "m", Stream: true, Messages: []llm.Message{{Role: llm.RoleUser, Content: "hi"}}}
		resp, err = d.client(t, serve(200, "", body)).Complete(context.Background(), req, w.watch)
	}
	b := &w.out
	if w.last != 0 {
		b.WriteByte('\n')
	}
	if e := asError(t, err); e != nil {
		fmt.Fprintf(b, "error %s: %s\n", e.Kind, e.Message)
		return b.String()
	}
	if !strings.HasPrefix(resp.Message.Content, w.text.String()) {
		t.Errorf("the deltas make %q, the answer is %q", w.text.String(), resp.Message.Content)
	}
	kept := ""
	for _, r := range resp.Message.Reasoning {
		kept += r.Text
	}
	if sorted(w.thought.String()) != sorted(kept) {
		t.Errorf("reasoning was shown as %q, %q is kept", w.thought.String(), kept)
	}
	writeAnswer(b, resp)
	return b.String()
}

// watcher writes down the deltas of an answer.
type watcher struct {
	out, text, thought strings.Builder
	last               llm.DeltaKind
}

func (w *watcher) watch(p llm.Delta) {
	if p.Kind != w.last || p.Kind == llm.DeltaToolCall {
		if w.last != 0 {
			w.out.WriteByte('\n')
		}
		w.out.WriteString([...]string{"text ", "reasoning ", "call "}[p.Kind-1])
	}
	w.last = p.Kind
	w.out.WriteString(p.Text)
	switch p.Kind {
	case llm.DeltaText:
		w.text.WriteString(p.Text)
	case llm.DeltaReasoning:
		w.thought.WriteString(p.Text)
	}
}

// sorted is a text's characters in an order of their own: blocks of reasoning
// may grow by turns. The end of one that was cut within a character is not shown.
func sorted(text string) string {
	runes := []rune(strings.ReplaceAll(text, "\uFFFD", ""))
	slices.Sort(runes)
	return string(runes)
}

func writeAnswer(b *strings.Builder, resp *llm.Response) {
	fmt.Fprintf(b, "finish %s\ncontent %q\n", resp.Finish, resp.Message.Content)
	for _, call := range resp.Message.ToolCalls {
		fmt.Fprintf(b, "tool %q %q %s\n", call.ID, call.Name, call.Args)
	}
	for _, r := range resp.Message.Reasoning {
		fmt.Fprintf(b, "block %s %q %s\n", r.Origin, r.Text, r.Raw)
	}
	if resp.Usage != (llm.Usage{}) {
		fmt.Fprintf(b, "usage %+v\n", resp.Usage)
	}
	if resp.TokensPerSecond != 0 {
		fmt.Fprintf(b, "speed %v\n", resp.TokensPerSecond)
	}
}

// recorder keeps the body of the last request.
func recorder(sent *string, answer string) serverFunc {
	return func(r *http.Request) (*http.Response, error) {
		b, err := io.ReadAll(r.Body)
		*sent = string(b)
		if err != nil {
			return nil, err
		}
		return events(answer)(r)
	}
}
