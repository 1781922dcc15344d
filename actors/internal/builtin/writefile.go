package builtin

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"clm/actors/internal/files"
	"clm/actors/internal/tool"
)

// maxShown bounds the paths of questions that are remembered.
const maxShown = 64

var writeSchema = object(`"path":{"type":"string","description":"file, from the working folder or absolute"},`+
	`"content":{"type":"string","description":"the whole new content"}`, "path", "content")

func (s *Set) writeFile() tool.Tool {
	type arguments struct {
		Path    string
		Content *string
	}
	return tool.Tool{
		Name:        "write_file",
		Description: "Write a whole file, in place of what it holds; makes it and its folders where they do not exist.",
		Schema:      writeSchema,
		Run: func(_ context.Context, call tool.Call) (tool.Result, error) {
			var args arguments
			if err := decode(call.Args, &args); err != nil {
				return tool.Result{}, err
			}
			if args.Content == nil {
				return tool.Result{}, errors.New("the argument content is missing")
			}
			real, err := s.open(args.Path)
			if err == nil {
				err = s.asShown(call.Args, real)
			}
			if err == nil {
				err = files.Write(real, *args.Content)
			}
			if err != nil {
				return tool.Result{}, err
			}
			return tool.Result{Text: s.safe(fmt.Sprintf("wrote %d bytes to %s", len(*args.Content), real))}, nil
		},
		Reason: func(raw string) string {
			var args arguments
			if decode(raw, &args) != nil || args.Content == nil {
				return ""
			}
			real, err := s.open(args.Path)
			if err != nil {
				return err.Error()
			}
			s.show(raw, real)
			if to := s.outside(args.Path, real); to != "" {
				return fmt.Sprintf("write %d bytes; the path leads to %s", len(*args.Content), to)
			}
			return fmt.Sprintf("write %d bytes to %s", len(*args.Content), real)
		},
	}
}

// show remembers the path that a question about a call shows.
func (s *Set) show(args, real string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown == nil || len(s.shown) >= maxShown {
		s.shown = map[[sha256.Size]byte]string{}
	}
	s.shown[sha256.Sum256([]byte(args))] = real
}

// asShown fails if a question about this call showed another path.
func (s *Set) asShown(args, real string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sha256.Sum256([]byte(args))
	was, asked := s.shown[key]
	delete(s.shown, key)
	if asked && was != real {
		return fmt.Errorf("the path led to %s when permission was given and leads to %s now; nothing was written, call again", was, real)
	}
	return nil
}
