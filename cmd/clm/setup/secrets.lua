-- Keys. Only config.lua and agent profiles see them, as clm.secrets.NAME;
-- keep this file's mode 0600.
return {
  anthropic = "",
  openai = "",
  google = "",
  mistral = "",
  groq = "",
  cerebras = "",
  openrouter = "",
  github = "",
  nvidia = "",
}
