-- Reads programs from standard input, each behind a line with its length, and
-- writes what each prints in the same form.
local budget = 400000
local function environment()
  local env = {}
  for k, v in pairs(_G) do
    if type(v) == "table" and v ~= _G then
      local copy = {}
      for name, f in pairs(v) do copy[name] = f end
      v = copy
    end
    env[k] = v
  end
  env._G = env
  for _, name in ipairs({"io", "os", "package", "debug", "require", "load", "loadstring", "dofile", "loadfile", "collectgarbage", "coroutine", "arg"}) do
    env[name] = nil
  end
  env.string.dump = nil
  return env
end
local function run(source)
  local out, size = {}, 0
  local env = environment()
  function env.print(...)
    local t = table.pack(...)
    for i = 1, t.n do t[i] = tostring(t[i]) end
    local line = table.concat(t, "\t") .. "\n"
    size = size + #line
    if size > 1000000 then error("too much output") end
    out[#out + 1] = line
  end
  getmetatable("").__index = env.string
  local f, err = load(source, "@p.lua", "t", env)
  if not f then return "error: " .. err .. "\n" end
  local co, over = coroutine.create(f), false
  local function stop() over = true error("over budget") end
  debug.sethook(co, function()
    debug.sethook(co, stop, "", 1)
    stop()
  end, "", budget)
  local ok, e = coroutine.resume(co)
  if over then return "error: over budget\n" end
  if not ok then
    local said, text = pcall(tostring, e)
    out[#out + 1] = "error: " .. (said and text or "?") .. "\n"
  end
  return table.concat(out)
end
while true do
  local n = io.read("n", "l")
  if not n then break end
  local text = run(io.read(n) or "")
  io.write(#text, "\n", text)
end
