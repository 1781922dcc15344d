//go:build unix

package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"clm/llm/llmtest"
)

// planted are the keys, one for each place that a key can be in.
func planted() map[string]string {
	keys := map[string]string{}
	for i, place := range []string{"env", "provider", "header", "mcp", "profile", "url", "unused", "tool"} {
		keys[place] = fmt.Sprintf("sk-PLANTED%d-%s-\"q\\&x", i, place)
	}
	keys["url"] = "PLANTED-password"
	return keys
}

// plant writes a configuration that holds a key in every place.
func plant(t *testing.T, home, url string, keys map[string]string) {
	t.Helper()
	var secrets strings.Builder
	for name, key := range keys {
		fmt.Fprintf(&secrets, "  %s = %q,\n", name, key)
	}
	for name, text := range map[string]string{
		"secrets.lua": "return {\n" + secrets.String() + "}",
		"config.lua": `return {
  model = "lab/mock",
  providers = {
    lab = { url = "` + url + `", api_key = clm.secrets.provider, headers = { ["X-Key"] = clm.secrets.header } },
    down = { url = "http://user:" .. clm.secrets.url .. "@127.0.0.1:1/v1", api_key = clm.secrets.unused },
  },
  tools = { p = { key = clm.secrets.tool } },
  mcp_servers = { { name = "m", url = "http://127.0.0.1:1/mcp", api_key = clm.secrets.mcp } },
  modle = clm.secrets.provider,
}`,
		"agents/x.lua":   `return { providers = { lab = { api_key = clm.secrets.profile } } }`,
		"agents/bad.lua": `error("a profile with " .. clm.secrets.profile)`,
		"plugins/p.lua": `clm.tool_register("t", { no_prompt = true, invoke = function(a, ctx)
  ctx:log("log " .. clm.config.key) print(clm.config.key)
  ctx:complete("ok")
end })`,
		"plugins/bad.lua": `error("at load " .. clm.config.key)`,
	} {
		path := filepath.Join(home, "config", "clm", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// echo is a model that says back every key that it was sent, in a failure, in
// an answer, and as arguments.
func echo() *llmtest.Model {
	m := llmtest.New()
	m.Reply = func(r *llmtest.Request) string {
		sent := r.Header.Get("Authorization") + " " + r.Header.Get("X-Key")
		switch r.N % 3 {
		case 1:
			return "!status 401\n{\"error\":{\"message\":" + fmt.Sprintf("%q", "bad key: "+sent) + "}}\n"
		case 2:
			return "!tool c1 t {\"a\":1}\n!finish tool_calls\n"
		}
		return "!text done\n!finish stop\n"
	}
	return m
}

// TestNoSecretEscapes plants a key in every place, runs every command at every
// level of the debug log, and searches all that was written.
func TestNoSecretEscapes(t *testing.T) {
	home, keys, m := t.TempDir(), planted(), echo()
	s, err := llmtest.ListenTCP(m)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	plant(t, home, s.URL, keys)
	var written strings.Builder
	runs := [][]string{
		{"-o", "hi"},
		{"-o", "hi", "--session"},
		{"-o", "hi", "--json", "--session", "-S"},
		{"-o", "hi", "--yes", "--record", filepath.Join(home, "record")},
		{"-o", "hi", "-c"},
		{"-o", "hi", "-a", "x"},
		{"-o", "hi", "-a", "bad"},
		{"-o", "hi", "--provider", "down"},
		{"-o", "hi", "-u", "http://user:" + keys["url"] + "@127.0.0.1:1"},
		{"config", "show"},
		{"config", "check"},
		{"models"},
		{"doctor"},
		{"sessions", "list"},
		{"sessions", "export", "2"},
		{"tool", "list"},
		{"tool", "run", "t"},
		{"setup"},
		{"demo"},
		{"schema"},
		{"man"},
		{"completion", "bash"},
		{"-V"},
		{"--help"},
		{"--nope"},
		{"stress", "-m", "lab/mock", "--agents", "2", "--json"},
		{"tool", "check", filepath.Join(home, "config/clm/plugins/bad.lua")},
		{"__complete", "-m", ""},
	}
	for _, level := range []string{"trace", "debug", "info", "warn", "error"} {
		for i, args := range runs {
			if level != "trace" && i > 5 {
				break
			}
			cmd := exec.Command("clm", args...)
			cmd.Dir = home
			cmd.Env = []string{
				"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + home + "/config", "XDG_STATE_HOME=" + home + "/state",
				"CLM_DEBUG_LEVEL=" + level, "CLM_DEBUG_LOG=" + filepath.Join(home, "debug-"+level+map[bool]string{true: ".json", false: ".log"}[i%2 == 0]),
			}
			if i%2 == 1 {
				cmd.Env = append(cmd.Env, "CLM_API_KEY="+keys["env"])
			}
			cmd.WaitDelay = patience
			out, _ := cmd.CombinedOutput() // many of them fail, as they should
			written.WriteString(strings.Join(args[:1], " ") + ":\n" + string(out))
		}
	}
	searchAll(t, home, written.String())
	if !strings.Contains(written.String(), "[secret]") {
		t.Error("nothing was hidden: the test shows nothing")
	}
}

// searchAll looks for a planted key in what was written, below home and in out.
func searchAll(t *testing.T, home, out string) {
	t.Helper()
	seen := func(where, text string) {
		if i := strings.Index(text, "PLANTED"); i >= 0 {
			t.Errorf("%s holds a key: …%.200q", where, text[max(0, i-80):])
		}
	}
	for part := range strings.SplitSeq(out, "\n") {
		seen("the output", part)
	}
	files := 0
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "config/clm") {
			return err
		}
		b, err := os.ReadFile(path)
		files++
		seen(strings.TrimPrefix(path, home), string(b))
		return err
	})
	if err != nil || files < 5 {
		t.Errorf("only %d files were searched: %v", files, err)
	}
}
