---@meta clm

-- What a plugin of clm sees, for the Lua language server.

---@class clm.ToolOptions
---@field description? string What the tool does, for the model.
---@field params_schema? table JSON Schema of the arguments, as a table.
---@field invoke fun(args: table, ctx: clm.Ctx) Called once for each call.
---@field timeout_ms? integer The longest that a call may take; 30000 of CPU by default.
---@field no_prompt? boolean Runs without a permission question.
---@field hidden? boolean Not shown to the model.

---@class clm.Ctx
local ctx = {}

---Ends the call with a result.
---@param text string|number
function ctx:complete(text) end

---Ends the call with a failure.
---@param message string|number
function ctx:fail(message) end

---The arguments as the model wrote them.
---@return string
function ctx:args_raw() end

---Writes to the debug log.
---@param message string
function ctx:log(message) end

---@class clm.Outcome
---@field ok boolean
---@field value? any One value, or a list of several.
---@field error? string
---@field cancelled? boolean

---@class clm.Task
local task = {}

---Waits for the task's end.
---@return true
function task:wait() end

---The outcome, or nil while the task runs.
---@return clm.Outcome?
function task:result() end

---Cancels the task and its request.
---@param reason? string
---@return boolean
function task:cancel(reason) end

---@class clm.Response
---@field status integer
---@field body string

---@class clm
---@field config table The plugin's settings, from tools in config.lua.
---@field secrets table In config.lua and profiles only: what secrets.lua returns.
clm = {}

---@param name string
---@param options clm.ToolOptions
function clm.tool_register(name, options) end

---@param path string
---@return string? content, string? err
function clm.read_file(path) end

---@param path string
---@param content string
---@return boolean? ok, string? err
function clm.write_file(path, content) end

---@param ms integer
function clm.sleep(ms) end

---@param f fun(): ...
---@return clm.Task
function clm.spawn(f) end

---@param tasks clm.Task[]
---@param timeout_ms? integer
---@return integer? index, string? err
function clm.wait_any(tasks, timeout_ms) end

---@param tasks clm.Task[]
---@return clm.Outcome[]
function clm.await_all(tasks) end

---@param tasks clm.Task[]
---@return any[]? values, string? err
function clm.try_all(tasks) end

---Calls another tool of the agent.
---@param name string
---@param args? table
---@return string? text, string? err
function clm.call(name, args) end

http = {}

---@param url string
---@param headers? table<string, string>
---@return clm.Response? resp, string? err
function http.get(url, headers) end

---@param url string
---@param body? string
---@param headers? table<string, string>
---@return clm.Response? resp, string? err
function http.post(url, body, headers) end

json = {}

---@type userdata JSON's null.
json.null = nil

---@param value any
---@return string
function json.encode(value) end

---@param text string
---@return any value, string? err
function json.decode(text) end

---Marks a table as an array.
---@generic T
---@param t T[]
---@return T[]
function json.array(t) end
