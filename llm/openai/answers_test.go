package openai

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rogpeppe/go-internal/txtar"

	"clm/llm"
)

var update = flag.Bool("update", false, "write what the answers became into testdata")

// TestAnswers plays each file of testdata/answers, whole, cut at every byte,
// and byte by byte.
func TestAnswers(t *testing.T) {
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
			got := outcome(t, strings.NewReader(in))
			if *update {
				a.Files[1].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(a.Files[1].Data); got != want {
				t.Fatalf("got\n%swant\n%s", got, want)
			}
			if again := outcome(t, iotest.OneByteReader(strings.NewReader(in))); again != got {
				t.Errorf("byte by byte:\n%s", again)
			}
			for i := range in {
				if cut := outcome(t, io.MultiReader(strings.NewReader(in[:i]), strings.NewReader(in[i:]))); cut != got {
					t.Fatalf("cut at %d:\n%s", i, cut)
				}
			}
		})
	}
}

// outcome asks for an answer and renders what came of it.
func outcome(t testing.TB, body io.Reader) string {
	t.Helper()
	c, err := New(llm.Connection{Kind: llm.KindOpenAI, URL: "http://h/v1"}, body200{body})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	last := llm.DeltaKind(0)
	resp, err := c.Complete(context.Background(), &llm.Request{Model: "m", Stream: true}, func(d llm.Delta) {
		if d.Kind != last || d.Kind == llm.DeltaToolCall {
			if last != 0 {
				b.WriteByte('\n')
			}
			b.WriteString([]string{"text ", "reasoning ", "call "}[d.Kind-1])
		}
		last = d.Kind
		b.WriteString(d.Text)
	})
	if last != 0 {
		b.WriteByte('\n')
	}
	if err != nil {
		var e *llm.Error
		if !errors.As(err, &e) {
			t.Fatalf("%T: %v", err, err)
		}
		fmt.Fprintf(&b, "error %s: %s\n", e.Kind, e.Message)
		return b.String()
	}
	fmt.Fprintf(&b, "finish %s\ncontent %q\n", resp.Finish, resp.Message.Content)
	for _, call := range resp.Message.ToolCalls {
		fmt.Fprintf(&b, "tool %q %q %s\n", call.ID, call.Name, call.Args)
	}
	for _, r := range resp.Message.Reasoning {
		fmt.Fprintf(&b, "block %s %q %s\n", r.Origin, r.Text, r.Raw)
	}
	if resp.Usage != (llm.Usage{}) {
		fmt.Fprintf(&b, "usage %+v\n", resp.Usage)
	}
	if resp.TokensPerSecond != 0 {
		fmt.Fprintf(&b, "speed %v\n", resp.TokensPerSecond)
	}
	return b.String()
}

// body200 answers everything with a body.
type body200 struct{ body io.Reader }

func (b body200) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(b.body), Request: r}, nil
}

func FuzzAnswer(f *testing.F) {
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
		got := outcome(t, strings.NewReader(string(in)))
		if again := outcome(t, iotest.OneByteReader(strings.NewReader(string(in)))); again != got {
			t.Fatalf("byte by byte:\n%s\nwhole:\n%s", again, got)
		}
	})
}
