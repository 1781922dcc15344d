-- hello: the smallest plugin, to begin one's own from. `clm man clm-plugin`
-- describes what a plugin can do; try this one without a model:
--   clm tool run hello '{"name":"Ada"}'

clm.tool_register("hello", {
  description = "Say hello to someone",
  params_schema = {
    type = "object",
    properties = { name = { type = "string", description = "who to greet" } },
    required = { "name" },
  },
  no_prompt = true, -- it changes nothing: no question before it runs
  invoke = function(args, ctx)
    ctx:complete("Hello, " .. args.name .. "!")
  end,
})
