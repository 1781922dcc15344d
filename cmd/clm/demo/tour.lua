-- The plugin of `clm demo`.

clm.tool_register("hello", {
  description = "Say hello to someone",
  params_schema = { type = "object", properties = { name = { type = "string" } }, required = { "name" } },
  no_prompt = true,
  invoke = function(args, ctx)
    ctx:complete("Hello, " .. args.name .. "!")
  end,
})

clm.tool_register("race", {
  description = "Three tasks at once, told in the order in which they end",
  no_prompt = true,
  invoke = function(_, ctx)
    local tasks, names, order = {}, {}, {}
    for i, ms in ipairs({ 300, 100, 200 }) do
      tasks[i] = clm.spawn(function() clm.sleep(ms) return ms end)
      names[i] = ms .. " ms"
    end
    while #tasks > 0 do
      local i = clm.wait_any(tasks)
      tasks[i]:result()
      order[#order + 1] = names[i]
      table.remove(tasks, i)
      table.remove(names, i)
    end
    ctx:complete(table.concat(order, ", "))
  end,
})

clm.tool_register("fetch", {
  description = "GET a URL",
  params_schema = { type = "object", properties = { url = { type = "string" } }, required = { "url" } },
  no_prompt = true,
  invoke = function(args, ctx)
    local resp, err = http.get(args.url)
    if resp == nil then return ctx:fail(err) end
    ctx:complete(resp.body)
  end,
})
