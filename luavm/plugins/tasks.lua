-- tasks: a list of things to do that the model keeps for itself during a session.

local LIMIT = 200
local MARKS = { pending = "[ ]", in_progress = "[~]", done = "[x]" }

local list = {} -- { id, text, status }, in the order in which they were added
local last_id = 0

local function show()
    if #list == 0 then return "No tasks." end
    local lines, open = {}, 0
    for i, task in ipairs(list) do
        lines[i] = ("%s %d. %s"):format(MARKS[task.status], task.id, task.text)
        if task.status ~= "done" then open = open + 1 end
    end
    lines[#lines + 1] = ("%d of %d open"):format(open, #list)
    return table.concat(lines, "\n")
end

local function position(id)
    for i, task in ipairs(list) do
        if task.id == id then return i end
    end
    error(("there is no task %s"):format(id or "without an id"), 0)
end

local actions = {}

function actions.list() end

function actions.add(args)
    local texts = args.texts or { args.text }
    if #texts == 0 then error("add needs text or texts", 0) end
    if #list + #texts > LIMIT then error(("a list has at most %d tasks"):format(LIMIT), 0) end
    for _, text in ipairs(texts) do
        last_id = last_id + 1
        list[#list + 1] = { id = last_id, text = text, status = "pending" }
    end
end

function actions.update(args)
    local task = list[position(args.id)]
    task.status = args.status or task.status
    task.text = args.text or task.text
end

function actions.remove(args)
    table.remove(list, position(args.id))
end

function actions.clear()
    list, last_id = {}, 0
end

clm.tool_register("tasks", {
    description = "Keep a list of tasks for work of several steps: add them, mark them in_progress and done as you go. "
        .. "Every action returns the whole list.",
    params_schema = {
        type = "object",
        properties = {
            action = { type = "string", enum = { "list", "add", "update", "remove", "clear" } },
            text = { type = "string", description = "for add and update: what is to be done" },
            texts = { type = "array", items = { type = "string" }, description = "for add: several tasks at once" },
            id = { type = "integer", description = "for update and remove: the task's number" },
            status = { type = "string", enum = { "pending", "in_progress", "done" }, description = "for update" },
        },
        required = { "action" },
    },
    no_prompt = true,
    invoke = function(args, ctx)
        local action = actions[args.action]
        if not action then
            ctx:fail("unknown action " .. tostring(args.action))
            return
        end
        local ok, problem = pcall(action, args)
        if ok then
            ctx:complete(show())
        else
            ctx:fail(problem)
        end
    end,
})
