package llm

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

const testKey = Secret("sk-TESTKEY123")

func TestSecretIsNeverPrinted(t *testing.T) {
	conn := Connection{
		Name: "x", URL: "http://h", Key: testKey,
		Headers: map[string]Secret{"X-Key": testKey},
	}
	ptr := &conn
	var texts []string
	for _, verb := range []string{"v", "+v", "#v", "s", "q", "x", "X", "d", "t", "T", "5.2s", "U", "c", "!"} {
		for _, v := range []any{testKey, conn, ptr, []Secret{testKey}, map[string]Secret{"a": testKey}, map[Secret]int{testKey: 1}, struct{ S Secret }{testKey}, errors.Join(fmt.Errorf("%v", testKey))} {
			texts = append(texts, fmt.Sprintf("%"+verb, v))
		}
	}
	for _, v := range []any{testKey, conn, map[string]Secret{"a": testKey}} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(b))
	}
	type element struct {
		A Secret `xml:"a,attr"`
		B Secret
	}
	b, err := xml.Marshal(element{testKey, testKey})
	if err != nil {
		t.Fatal(err)
	}
	texts = append(texts, string(b))
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("m", "a", testKey, "b", conn)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "a", testKey, "b", conn)
	texts = append(texts, log.String(), fmt.Sprint(testKey, conn), fmt.Sprintln(ptr))
	for _, text := range texts {
		low := strings.ToLower(text)
		if strings.Contains(low, "testkey") || strings.Contains(low, fmt.Sprintf("%x", "TESTKEY")) {
			t.Errorf("shown: %s", text)
		}
	}
}

func TestSecretKeepsItsValue(t *testing.T) {
	if got := testKey.Reveal(); got != "sk-TESTKEY123" {
		t.Errorf("Reveal = %q", got)
	}
	if got := Secret("").String(); got != "" {
		t.Errorf("an empty secret prints as %q", got)
	}
	var s struct{ K Secret }
	if err := json.Unmarshal([]byte(`{"K":"abc"}`), &s); err != nil || s.K.Reveal() != "abc" {
		t.Errorf("Unmarshal = %v, %v", s.K.Reveal(), err)
	}
}
