package config

import (
	"slices"
	"strings"
	"testing"
)

const targetConfig = `return {
  model = "lab/org/model-4.1",
  context_size = 1000,
  providers = {
    lab = { url = "http://lab/v1/", api_key = "lab-key", rate_tokens_per_sec = 10, rate_burst = 5,
      models = { ["org/model-4.1"] = { context_size = 4096, autocompact_pct = 50, max_output_tokens = 99, price = { input = 1.5 } } } },
    claude = { kind = "anthropic", api_key = "claude-key" },
    near = { kind = "ollama" },
    many = { url = "http://many", models = { a = {}, b = {} } },
  },
}`

// TestTarget holds the rules of -m, -u, --provider, CLM_MODEL and CLM_API_KEY.
func TestTarget(t *testing.T) {
	for _, c := range []struct{ name, flags, env, want string }{
		{"configured", "", "", "openai http://lab/v1 lab|org/model-4.1 key=lab-key size=4096"},
		{"spec splits at the first slash", "-m near/a/b:c.d", "", "ollama http://127.0.0.1:11434/v1 near|a/b:c.d key= size=1000"},
		{"bare id on the active connection", "-m small", "", "openai http://lab/v1 lab|small key=lab-key size=1000"},
		{"provider keeps the model", "--provider near", "", "ollama http://127.0.0.1:11434/v1 near|org/model-4.1 key= size=1000"},
		{"provider and a bare model", "--provider near -m tiny", "", "ollama http://127.0.0.1:11434/v1 near|tiny key= size=1000"},
		{"provider and its own prefix", "--provider near -m near/tiny", "", "ollama http://127.0.0.1:11434/v1 near|tiny key= size=1000"},
		{"provider and an id with slashes", "--provider near -m lab/tiny", "", "ollama http://127.0.0.1:11434/v1 near|lab/tiny key= size=1000"},
		{"url drops the configured provider", "-u http://x:1/v1/", "", "openai http://x:1/v1 |org/model-4.1 key= size=1000"},
		{"url takes the model literally", "-u http://x/v1 -m lab/m", "", "openai http://x/v1 |lab/m key= size=1000"},
		{"url with the request path", "-u http://x/v1/chat/completions", "", "openai http://x/v1 |org/model-4.1 key= size=1000"},
		{"url of a provider's dialect and key", "-u http://proxy -m m --provider claude", "", "anthropic http://proxy claude|m key=claude-key size=1000"},
		{"key from the environment wins", "", "CLM_API_KEY=env-key", "openai http://lab/v1 lab|org/model-4.1 key=env-key size=4096"},
		{"key from the environment with a url", "-u http://x", "CLM_API_KEY=env-key", "openai http://x |org/model-4.1 key=env-key size=1000"},
		{"model from the environment", "", "CLM_MODEL=claude/c", "anthropic https://api.anthropic.com/v1 claude|c key=claude-key size=1000"},
		{"flag over the environment", "-m x", "CLM_MODEL=claude/c", "anthropic https://api.anthropic.com/v1 claude|x key=claude-key size=1000"},
		{"demo needs no configuration", "-m demo/any", "", "demo  demo|any key= size=1000"},
		{"demo has a model", "--provider demo", "CLM_MODEL=", "demo  demo|org/model-4.1 key= size=1000"},
		{"unknown provider", "-m org/x", "", `--model: there is no provider "org"; there are claude, lab, many, near, demo (the model "org/x" of lab is lab/org/x)`},
		{"unknown provider, misspelt", "-m cluade/x", "", `--model: there is no provider "cluade"; the nearest is "claude"; there are claude, lab, many, near, demo (the model "cluade/x" of lab is lab/cluade/x)`},
		{"unknown --provider", "--provider labs", "", `--provider: there is no provider "labs"; the nearest is "lab"; there are claude, lab, many, near, demo`},
		{"mended by a later layer", "-m lab/x", "CLM_MODEL=org/x", "openai http://lab/v1 lab|x key=lab-key size=1000"},
		{"not mended by a bare id", "-m x", "CLM_MODEL=org/x", `CLM_MODEL in the environment: model: there is no provider "org"; there are claude, lab, many, near, demo (the model "org/x" of lab is lab/org/x)`},
		{"bad url", "-u localhost:8081", "", `-u: "localhost:8081" must begin with http:// or https:// and a host`},
		{"bad url without a scheme", "-u 127.0.0.1:8081", "", `-u: the URL cannot be read: one begins with http:// or https://, a host and perhaps a port`},
		{"bad url does not show its password", "-u ftp://u:hunter22@h", "", `-u: "ftp://u:xxxxx@h" must begin with http:// or https:// and a host`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := targetText(t, targetConfig, c.flags, c.env)
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func targetText(t *testing.T, config, flags, env string) string {
	home := t.TempDir()
	writeFile(t, home+"/clm/config.lua", config)
	fs, choice := testFlags(t, strings.Fields(flags))
	cfg, warns, err := Load(Options{Env: []string{"XDG_CONFIG_HOME=" + home, env}, Flags: fs})
	if err != nil || len(warns) > 0 {
		t.Fatal(err, warns)
	}
	target, err := cfg.Target(choice)
	if err != nil {
		return err.Error()
	}
	return strings.Join([]string{
		target.Kind, target.URL, target.Provider + "|" + target.Model,
		"key=" + target.APIKey.Reveal(), "size=" + itoa(target.ContextSize),
	}, " ")
}

func TestTargetWithoutModel(t *testing.T) {
	for config, want := range map[string]string{
		`return {}`: "openai http://127.0.0.1:8081/v1 | key= size=0",
		`return { providers = { one = { url = "http://one" } } }`:                                                               "openai http://one one| key= size=0",
		`return { providers = { one = { url = "http://one", models = { m = {} } } } }`:                                          "openai http://one one|m key= size=0",
		`return { providers = { one = { url = "http://one", models = { a = {}, b = {} } } } }`:                                  "model: none is chosen for one: say -m one/ID, one of a, b",
		`return { providers = { a = {}, b = {} } }`:                                                                             "openai http://127.0.0.1:8081/v1 | key= size=0",
		`return { model = "x", providers = { a = { url = "http://a" }, b = {} } }`:                                              "openai http://127.0.0.1:8081/v1 |x key= size=0",
		`return { model = "x", providers = { demo = { kind = "openai", url = "http://d" } } }`:                                  "openai http://d demo|x key= size=0",
		`return { model = "a/m", context_size = 5, providers = { a = { url = "http://a", models = { m = { price = {} } } } } }`: "openai http://a a|m key= size=5",
	} {
		if got := targetText(t, config, "", "X="); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", config, got, want)
		}
	}
}

// TestFallback holds what a connection's fallbacks are, and that the key from the
// environment is for none of them.
func TestFallback(t *testing.T) {
	const config = `return { model = "a/m", providers = {
		a = { url = "http://a", api_key = "a-key", fallback = { "b", "one", "many", "many/x/y", "a/other", "demo" } },
		b = { url = "http://b", api_key = "b-key", fallback = { "a" } },
		one = { kind = "anthropic", url = "http://one", models = { ["claude-x"] = { context_size = 7, max_output_tokens = 8 } } },
		many = { url = "http://many", models = { x = {}, y = {} } },
	} }`
	home := t.TempDir()
	writeFile(t, home+"/clm/config.lua", config)
	cfg, _, err := Load(Options{Env: []string{"XDG_CONFIG_HOME=" + home, "CLM_API_KEY=env-key"}})
	if err != nil {
		t.Fatal(err)
	}
	target, err := cfg.Target(Choice{})
	if err != nil || target.APIKey != "env-key" {
		t.Fatal(target, err)
	}
	var got []string
	for _, f := range target.Fallback {
		got = append(got, strings.Join([]string{f.Kind, f.URL, f.Name(), f.APIKey.Reveal(), itoa(f.ContextSize), itoa(f.MaxOutputTokens), itoa(len(f.Fallback))}, " "))
	}
	want := []string{
		"openai http://b b/m b-key 0 0 0", "anthropic http://one one/claude-x  7 8 0", "openai http://many many/m  0 0 0",
		"openai http://many many/x/y  0 0 0", "openai http://a a/other a-key 0 0 0", "demo  demo/m  0 0 0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if at, err := cfg.Target(Choice{URL: "http://x", Provider: "a"}); err != nil || len(at.Fallback) != 0 {
		t.Errorf("with -u: %v, %v", at.Fallback, err)
	}
	if at, err := cfg.Switch(target, "b/q"); err != nil || len(at.Fallback) != 1 || at.Fallback[0].Name() != "a/q" || at.Fallback[0].APIKey != "a-key" {
		t.Errorf("switched: %v, %v", at.Fallback, err)
	}
}

// TestSwitch holds /model and /provider.
func TestSwitch(t *testing.T) {
	home := t.TempDir()
	writeFile(t, home+"/clm/config.lua", targetConfig)
	cfg, _, err := Load(Options{Env: []string{"XDG_CONFIG_HOME=" + home}})
	if err != nil {
		t.Fatal(err)
	}
	start, err := cfg.Target(Choice{URL: "http://x/v1"})
	if err != nil {
		t.Fatal(err)
	}
	bare, err := cfg.Switch(start, "tiny")
	if err != nil || bare.URL != "http://x/v1" || bare.Model != "tiny" || bare.Provider != "" {
		t.Errorf("bare id: %+v %v", bare, err)
	}
	lab, err := cfg.Switch(start, "lab/org/model-4.1")
	if err != nil || lab.URL != "http://lab/v1" || lab.ContextSize != 4096 || lab.MaxOutputTokens != 99 || lab.Price.Input != 1.5 || lab.AutocompactPct != 50 {
		t.Errorf("provider's model: %+v %v", lab, err)
	}
	near, err := cfg.SwitchProvider(lab, "near")
	if err != nil || near.Name() != "near/org/model-4.1" || near.APIKey != "" {
		t.Errorf("provider: %+v %v", near, err)
	}
	if _, err := cfg.Switch(lab, "nope/x"); err == nil {
		t.Error("an unknown provider was taken")
	}
}

// 0 means the default, as for every other number.
func TestZeroAutocompact(t *testing.T) {
	home := t.TempDir()
	writeFile(t, home+"/clm/config.lua", `return { autocompact_pct = 0, model = "lab/m",
		providers = { lab = { url = "http://lab", models = { m = { autocompact_pct = 0 } } } } }`)
	for env, want := range map[string]int{"": 70, "CLM_AUTOCOMPACT_PCT=0": 70, "CLM_AUTOCOMPACT_PCT=40": 40} {
		cfg, _, err := Load(Options{Env: []string{"XDG_CONFIG_HOME=" + home, env}})
		if err != nil {
			t.Fatal(err)
		}
		if target, err := cfg.Target(Choice{}); err != nil || target.AutocompactPct != want {
			t.Errorf("%s: %d, %v; want %d", env, target.AutocompactPct, err, want)
		}
	}
}
