-- The configuration of clm: `clm man clm-config` describes every key,
-- `clm config check` checks this file.

---@type clm.Config
return {
  -- provider/model-id. "demo/demo" needs no key and no network; put a key into
  -- secrets.lua and name a model here, or say -m provider/model-id.
  model = "demo/demo",

  -- system_prompt = "You are brief.",

  providers = {
    anthropic = { kind = "anthropic", url = "https://api.anthropic.com/v1", api_key = clm.secrets.anthropic },
    openai = { kind = "openai-responses", url = "https://api.openai.com/v1", api_key = clm.secrets.openai },
    google = { url = "https://generativelanguage.googleapis.com/v1beta/openai", api_key = clm.secrets.google },
    mistral = { url = "https://api.mistral.ai/v1", api_key = clm.secrets.mistral },
    groq = { url = "https://api.groq.com/openai/v1", api_key = clm.secrets.groq },
    cerebras = { url = "https://api.cerebras.ai/v1", api_key = clm.secrets.cerebras },
    openrouter = { url = "https://openrouter.ai/api/v1", api_key = clm.secrets.openrouter },
    github = { url = "https://models.github.ai/inference", api_key = clm.secrets.github },
    nvidia = { url = "https://integrate.api.nvidia.com/v1", api_key = clm.secrets.nvidia },
    ollama = { kind = "ollama", url = "http://127.0.0.1:11434/v1" },
    llamacpp = { url = "http://127.0.0.1:8081/v1" },
  },

  -- Rules for tools that ask before they run; deny wins.
  permissions = {
    allow = {},
    deny = { "shell_exec:*sudo*" },
  },

  -- Profiles that the model may start as agents of their own.
  subagents = { "reviewer" },
}
