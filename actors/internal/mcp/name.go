package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const maxName = 64

// toolNames maps the names of a server's tools to ours: mcp__SERVER__TOOL,
// with _ for characters that not every model server takes. A name that is too
// long or comes twice ends in a hash of the original. Names that need no
// change are never taken by others.
func toolNames(server string, names []string) []string {
	prefix := "mcp__" + safe(server) + "__"
	out := make([]string, len(names))
	taken := map[string]bool{}
	for i, name := range names {
		if full := prefix + name; safe(name) == name && len(full) <= maxName {
			out[i] = full
			taken[full] = true
		}
	}
	for i, name := range names {
		if out[i] != "" {
			continue
		}
		full := prefix + safe(name)
		if len(full) > maxName || taken[full] {
			sum := sha256.Sum256([]byte(server + "\x00" + name))
			suffix := "_" + hex.EncodeToString(sum[:5])
			full = full[:min(len(full), maxName-len(suffix))] + suffix
		}
		out[i] = full
		taken[full] = true
	}
	return out
}

// safe replaces what is not in [A-Za-z0-9_-].
func safe(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
}
