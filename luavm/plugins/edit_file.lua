-- edit_file: replaces an exact piece of text in a file. The text must occur once, so that the model never changes a
-- place that it did not mean.

local function line_of(text, position)
    local _, breaks = text:sub(1, position - 1):gsub("\n", "")
    return breaks + 1
end

-- positions of the plain text what in text, at most limit of them
local function occurrences(text, what, limit)
    local found, from = {}, 1
    while #found < limit do
        local first, last = text:find(what, from, true)
        if not first then break end
        found[#found + 1] = first
        from = last + 1
    end
    return found
end

local function replace_all(text, old, new)
    local parts, from = {}, 1
    while true do
        local first, last = text:find(old, from, true)
        if not first then break end
        parts[#parts + 1] = text:sub(from, first - 1)
        from = last + 1
    end
    parts[#parts + 1] = text:sub(from)
    return table.concat(parts, new), #parts - 1
end

-- a hint for a text that does not occur: where its first line that is not empty does, spaces aside
local function hint(text, old)
    local wanted = old:match("%S[^\r\n]*")
    wanted = wanted and wanted:gsub("%s+$", "")
    if not wanted or #wanted < 4 then return "" end
    local number = 0
    for line in (text .. "\n"):gmatch("(.-)\r?\n") do
        number = number + 1
        if line:find(wanted, 1, true) then
            return (" Its first line is like line %d, but the whole does not match: check indentation and line ends."):format(number)
        end
    end
    return ""
end

local function edit(path, old, new, all)
    if old == new then
        return nil, "old_string and new_string are the same"
    end
    local text, err = clm.read_file(path)
    if not text then
        if old == "" and err:find("no such file", 1, true) then
            local ok, problem = clm.write_file(path, new)
            if not ok then return nil, problem end
            return "Created " .. path
        end
        return nil, err
    end
    if old == "" then
        return nil, path .. " exists; old_string may only be empty for a new file"
    end
    if not text:find(old, 1, true) and text:find("\r\n", 1, true) and not old:find("\r", 1, true) then
        old, new = old:gsub("\n", "\r\n"), new:gsub("\n", "\r\n") -- the file has the line ends of Windows
    end
    local found = occurrences(text, old, all and 1 or 10)
    if #found == 0 then
        return nil, "old_string does not occur in " .. path .. "." .. hint(text, old)
    end
    if #found > 1 then
        local lines = {}
        for i, position in ipairs(found) do lines[i] = line_of(text, position) end
        return nil, ("old_string occurs %s times in %s (lines %s); add lines around it until it is unique, or set replace_all")
            :format(#found == 10 and "at least 10" or #found, path, table.concat(lines, ", "))
    end
    local changed, count = replace_all(text, old, new)
    local ok, problem = clm.write_file(path, changed)
    if not ok then return nil, problem end
    return ("Replaced %d occurrence%s in %s, the first at line %d"):format(count, count == 1 and "" or "s", path, line_of(text, found[1]))
end

clm.tool_register("edit_file", {
    description = "Replace a piece of text in a file. old_string must match exactly, with indentation and line ends, and occur "
        .. "only once unless replace_all is set. An empty old_string creates a new file.",
    params_schema = {
        type = "object",
        properties = {
            path = { type = "string", description = "the file" },
            old_string = { type = "string", description = "the text to replace, exactly as it stands in the file" },
            new_string = { type = "string", description = "the text to put in its place" },
            replace_all = { type = "boolean", description = "replace every occurrence; default false" },
        },
        required = { "path", "old_string", "new_string" },
    },
    invoke = function(args, ctx)
        local done, problem = edit(args.path, args.old_string, args.new_string, args.replace_all == true)
        if done then
            ctx:complete(done)
        else
            ctx:fail(problem)
        end
    end,
})
