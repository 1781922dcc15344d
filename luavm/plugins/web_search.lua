-- web_search: titles, addresses and snippets for a query. Without configuration it asks DuckDuckGo's page for browsers
-- without scripts; tools.web_search.url names a SearXNG server's search address instead (its JSON format must be on).

local DUCKDUCKGO = "https://html.duckduckgo.com/html/"
local MOST = 10

local function encode(text)
    return (text:gsub("[^%w%-._~]", function(c) return ("%%%02X"):format(c:byte()) end))
end

local function decode(text)
    return (text:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

local ENTITIES = { amp = "&", lt = "<", gt = ">", quot = '"', apos = "'", nbsp = " " }

local function entity(name)
    local code = tonumber(name:match("^#(%d+)$")) or tonumber(name:match("^#[xX](%x+)$") or "", 16)
    if code and code > 0 and code <= 0x10FFFF then return utf8.char(code) end
    return ENTITIES[name]
end

-- the text of a piece of HTML
local function plain(html)
    local text = html:gsub("<[^>]*>", ""):gsub("&(#?%w+);", entity):gsub("%s+", " ")
    return (text:gsub("^ ", ""):gsub(" $", ""))
end

-- DuckDuckGo's links lead through its own address
local function target(link)
    link = plain(link)
    local behind = link:match("[?&]uddg=([^&]+)")
    if behind then return decode(behind) end
    return (link:gsub("^//", "https://"))
end

local function from_duckduckgo(query)
    local response, err = http.get(DUCKDUCKGO .. "?q=" .. encode(query))
    if not response then error(err, 0) end
    if response.status ~= 200 then error(("the search service answered %d"):format(response.status), 0) end
    local results = {}
    local html = response.body
    local from = 1
    while #results < MOST do
        local _, last, attributes, title = html:find('<a([^>]-class="result__a"[^>]*)>(.-)</a>', from)
        if not last then break end
        local until_next = html:find('class="result__a"', last, true) or #html
        local snippet = html:sub(last, until_next):match('class="result__snippet"[^>]*>(.-)</a>')
        results[#results + 1] = { title = plain(title), url = target(attributes:match('href="([^"]*)"') or ""), text = snippet and plain(snippet) or "" }
        from = last
    end
    if #results == 0 and html:find("anomaly", 1, true) then
        error("the search service refuses automated queries for now; set tools.web_search.url to a SearXNG server", 0)
    end
    return results
end

local function from_searxng(url, query)
    local response, err = http.get(("%s%sformat=json&q=%s"):format(url, url:find("?", 1, true) and "&" or "?", encode(query)))
    if not response then error(err, 0) end
    if response.status ~= 200 then error(("the search service answered %d"):format(response.status), 0) end
    local data = json.decode(response.body)
    if type(data) ~= "table" or type(data.results) ~= "table" then error("the search service answered no results in JSON", 0) end
    local results = {}
    for i = 1, math.min(#data.results, MOST) do
        local r = data.results[i]
        results[i] = { title = tostring(r.title), url = tostring(r.url), text = type(r.content) == "string" and plain(r.content) or "" }
    end
    return results
end

local function search(query, count)
    if not query:find("%S") then error("the query is empty", 0) end
    local url = clm.config.url
    local results = url and from_searxng(url, query) or not url and from_duckduckgo(query)
    if #results == 0 then return "No results." end
    local blocks = {}
    for i = 1, math.min(#results, count) do
        local r = results[i]
        blocks[i] = ("%d. %s\n   %s%s"):format(i, r.title, r.url, r.text ~= "" and "\n   " .. r.text or "")
    end
    return table.concat(blocks, "\n")
end

clm.tool_register("web_search", {
    description = "Search the web. Returns titles, addresses and snippets.",
    params_schema = {
        type = "object",
        properties = {
            query = { type = "string", description = "what to search for" },
            count = { type = "integer", minimum = 1, maximum = MOST, description = "how many results; default 5" },
        },
        required = { "query" },
    },
    invoke = function(args, ctx)
        local ok, result = pcall(search, args.query, args.count or 5)
        if ok then
            ctx:complete(result)
        else
            ctx:fail(result)
        end
    end,
})
