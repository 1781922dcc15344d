-- reverse: turns a text around, character by character. Marks that combine with the letter before them stay with it.

local function combines(code)
    return code >= 0x300 and code <= 0x36F or code >= 0x1AB0 and code <= 0x1AFF or code >= 0x20D0 and code <= 0x20FF
        or code == 0x200D or code >= 0xFE00 and code <= 0xFE0F
end

local function reverse(text)
    if not utf8.len(text) then
        return text:reverse() -- not UTF-8: by bytes
    end
    local characters, joined = {}, false
    for _, code in utf8.codes(text) do
        local n = #characters
        if n > 0 and (joined or combines(code)) then
            characters[n] = characters[n] .. utf8.char(code)
        else
            characters[n + 1] = utf8.char(code)
        end
        joined = code == 0x200D
    end
    for i = 1, #characters // 2 do
        local j = #characters - i + 1
        characters[i], characters[j] = characters[j], characters[i]
    end
    return table.concat(characters)
end

clm.tool_register("reverse", {
    description = "Reverse a text, character by character.",
    params_schema = {
        type = "object",
        properties = { text = { type = "string", description = "the text to reverse" } },
        required = { "text" },
    },
    no_prompt = true,
    invoke = function(args, ctx)
        ctx:complete(reverse(args.text))
    end,
})
