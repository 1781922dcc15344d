package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rogpeppe/go-internal/txtar"

	"clm/llm"
)

// Files plays each file of testdata/answers, which holds what a server sent
// and what comes of it: whole, byte by byte, split at every byte, and cut off
// there, which is never another answer unless the dialect's end is open. update
// rewrites what comes of them.
func Files(t *testing.T, d Dialect, update bool) {
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
			got := d.outcome(t, strings.NewReader(in))
			if update {
				a.Files = append(a.Files[:1], txtar.File{Name: "want", Data: []byte(got)})
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(a.Files[1].Data); got != want {
				t.Fatalf("got\n%swant\n%s", got, want)
			}
			if again := d.outcome(t, iotest.OneByteReader(strings.NewReader(in))); again != got {
				t.Errorf("byte by byte:\n%s", again)
			}
			for i := range in {
				if split := d.outcome(t, io.MultiReader(strings.NewReader(in[:i]), strings.NewReader(in[i:]))); split != got {
					t.Fatalf("split at %d:\n%s", i, split)
				}
				if cut := d.outcome(t, strings.NewReader(in[:i])); !d.OpenEnd && answered(cut) && cut != got {
					t.Fatalf("cut off after %d bytes it is another answer:\n%s", i, cut)
				}
			}
		})
	}
}

func answered(outcome string) bool { return strings.Contains("\n"+outcome, "\nfinish ") }

// Fuzz feeds a client whatever there is: it must not depend on how the bytes
// come, and what it makes of them can be sent back.
func Fuzz(f *testing.F, d Dialect) {
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
		got := d.outcome(t, strings.NewReader(string(in)))
		if again := d.outcome(t, iotest.OneByteReader(strings.NewReader(string(in)))); again != got {
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

// outcome asks for an answer and writes down what came of it.
func (d Dialect) outcome(t testing.TB, body io.Reader) string {
	t.Helper()
	var b strings.Builder
	var text, thought string
	last := llm.DeltaKind(0)
	req := &llm.Request{Model: "m", Stream: true, Messages: []llm.Message{{Role: llm.RoleUser, Content: "hi"}}}
	resp, err := d.client(t, serve(200, "", body)).Complete(context.Background(), req, func(p llm.Delta) {
		if p.Kind != last || p.Kind == llm.DeltaToolCall {
			if last != 0 {
				b.WriteByte('\n')
			}
			b.WriteString([]string{"text ", "reasoning ", "call "}[p.Kind-1])
		}
		last = p.Kind
		b.WriteString(p.Text)
		switch p.Kind {
		case llm.DeltaText:
			text += p.Text
		case llm.DeltaReasoning:
			thought += p.Text
		}
	})
	if last != 0 {
		b.WriteByte('\n')
	}
	if err != nil {
		var e *llm.Error
		if !errors.As(err, &e) {
			t.Fatalf("%T: %v", err, err)
		}
		checkError(t, e)
		fmt.Fprintf(&b, "error %s: %s\n", e.Kind, e.Message)
		return b.String()
	}
	if !strings.HasPrefix(resp.Message.Content, text) {
		t.Errorf("the deltas make %q, the answer is %q", text, resp.Message.Content)
	}
	writeAnswer(&b, resp, thought)
	return b.String()
}

func writeAnswer(b *strings.Builder, resp *llm.Response, thought string) {
	fmt.Fprintf(b, "finish %s\ncontent %q\n", resp.Finish, resp.Message.Content)
	for _, call := range resp.Message.ToolCalls {
		fmt.Fprintf(b, "tool %q %q %s\n", call.ID, call.Name, call.Args)
	}
	for _, r := range resp.Message.Reasoning {
		fmt.Fprintf(b, "block %s %q %s\n", r.Origin, r.Text, r.Raw)
	}
	shown := slices.ContainsFunc(resp.Message.Reasoning, func(r llm.Reasoning) bool { return r.Text != "" })
	if thought != "" && !shown {
		fmt.Fprintf(b, "reasoning that was shown is not kept: %q\n", thought)
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
