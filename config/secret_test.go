package config

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
)

func itoa(n int) string { return strconv.Itoa(n) }

// TestSecretHides formats secrets in every way that Go has.
func TestSecretHides(t *testing.T) {
	p := Provider{APIKey: "sk-PLANTED", Headers: map[string]Secret{"X": "sk-PLANTED"}}
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T%v"} {
		fmt.Fprintf(&out, verb+"\n", p, &p)
		fmt.Fprintf(&out, verb+"\n", p.APIKey, p.Headers)
	}
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(b)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "key", p.APIKey, "provider", p)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "key", p.APIKey, "provider", p)
	for _, bad := range []string{"PLANTED", fmt.Sprintf("%x", "PLANTED"), fmt.Sprintf("%X", "PLANTED")} {
		if strings.Contains(out.String(), bad) {
			t.Errorf("%q shows in %s", bad, out.String())
		}
	}
	if p.APIKey.Reveal() != "sk-PLANTED" || Secret("").String() != "" {
		t.Error("Reveal or the empty secret is wrong")
	}
}

// TestSecrets lists what a scrubber must know.
func TestSecrets(t *testing.T) {
	home := t.TempDir()
	writeFile(t, home+"/clm/secrets.lua", `return { a = "from-secrets", short = "abc" }`)
	writeFile(t, home+"/clm/config.lua", `return {
	  providers = { a = { url = "http://u:pass%40word@h", api_key = "from-provider", headers = { X = "from-header", Y = "v1" } } },
	  mcp_servers = { { name = "m", url = "http://h", api_key = "from-mcp" } },
	  agents = { x = { providers = { b = { api_key = "from-profile" } } } },
	}`)
	cfg, _, err := Load(Options{Env: []string{"XDG_CONFIG_HOME=" + home, "CLM_API_KEY=from-env"}})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(cfg.Secrets(), " ")
	for _, want := range []string{"from-secrets", "from-provider", "from-header", "from-mcp", "from-profile", "from-env", "pass@word", "pass%40word"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %s", want, got)
		}
	}
	if strings.Contains(got, "abc") || strings.Contains(got, "v1") {
		t.Errorf("a text that is too short to be searched for is in %s", got)
	}
}
