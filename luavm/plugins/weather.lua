-- weather: the weather now and on the next days, from Open-Meteo, which asks for no key.
--
-- Configuration (tools.weather): units = "metric" (default) or "imperial"; days = 1 to 7 (default 3);
-- geocoding_url and forecast_url for another server of the same kind.

local config = clm.config
local GEOCODING = config.geocoding_url or "https://geocoding-api.open-meteo.com/v1/search"
local FORECAST = config.forecast_url or "https://api.open-meteo.com/v1/forecast"
local IMPERIAL = config.units == "imperial"
local DAYS = math.min(math.max(math.tointeger(config.days) or 3, 1), 7)

-- WMO weather codes
local SKY = {
    [0] = "clear", [1] = "mostly clear", [2] = "partly cloudy", [3] = "overcast", [45] = "fog", [48] = "rime fog",
    [51] = "light drizzle", [53] = "drizzle", [55] = "heavy drizzle", [56] = "freezing drizzle", [57] = "freezing drizzle",
    [61] = "light rain", [63] = "rain", [65] = "heavy rain", [66] = "freezing rain", [67] = "freezing rain",
    [71] = "light snow", [73] = "snow", [75] = "heavy snow", [77] = "snow grains",
    [80] = "light showers", [81] = "showers", [82] = "violent showers", [85] = "snow showers", [86] = "heavy snow showers",
    [95] = "thunderstorm", [96] = "thunderstorm with hail", [99] = "thunderstorm with heavy hail",
}

local function encode(text)
    return (text:gsub("[^%w%-._~]", function(c) return ("%%%02X"):format(c:byte()) end))
end

local function fetch(url)
    local response, err = http.get(url)
    if not response then error(err, 0) end
    local data, bad = json.decode(response.body)
    if response.status ~= 200 then
        error(("the weather service answered %d%s"):format(response.status, data and data.reason and ": " .. data.reason or ""), 0)
    end
    if not data then error("the weather service answered no " .. bad, 0) end
    return data
end

local function place(name)
    local data = fetch(("%s?name=%s&count=1&language=en&format=json"):format(GEOCODING, encode(name)))
    local found = data.results and data.results[1]
    if not found then error(("no place called %s was found"):format(name), 0) end
    local parts = { found.name }
    for _, part in ipairs({ found.admin1 or json.null, found.country or json.null }) do
        if part ~= json.null and part ~= parts[#parts] then parts[#parts + 1] = part end
    end
    return found, table.concat(parts, ", ")
end

local function sky(code) return SKY[code] or "weather code " .. tostring(code) end

local function report(name)
    local where, title = place(name)
    local units = IMPERIAL and "&temperature_unit=fahrenheit&wind_speed_unit=mph&precipitation_unit=inch" or ""
    local data = fetch(("%s?latitude=%.4f&longitude=%.4f&timezone=auto&forecast_days=%d%s"
        .. "&current=temperature_2m,apparent_temperature,relative_humidity_2m,wind_speed_10m,weather_code"
        .. "&daily=weather_code,temperature_2m_max,temperature_2m_min,precipitation_sum"):format(FORECAST, where.latitude, where.longitude, DAYS, units))
    local degrees, speed, depth = IMPERIAL and "°F" or "°C", IMPERIAL and "mph" or "km/h", IMPERIAL and "in" or "mm"
    local now, daily = data.current, data.daily
    local lines = {
        title,
        ("Now: %s, %.0f%s, feels like %.0f%s, humidity %.0f %%, wind %.0f %s"):format(sky(now.weather_code), now.temperature_2m, degrees,
            now.apparent_temperature, degrees, now.relative_humidity_2m, now.wind_speed_10m, speed),
    }
    for i, day in ipairs(daily.time) do
        lines[#lines + 1] = ("%s: %s, %.0f to %.0f%s, %g %s of rain or snow"):format(day, sky(daily.weather_code[i]),
            daily.temperature_2m_min[i], daily.temperature_2m_max[i], degrees, daily.precipitation_sum[i], depth)
    end
    return table.concat(lines, "\n")
end

clm.tool_register("weather", {
    description = "Current weather and the forecast of the next days for a place.",
    params_schema = {
        type = "object",
        properties = { location = { type = "string", description = "a town, such as \"Vienna\"" } },
        required = { "location" },
    },
    invoke = function(args, ctx)
        local ok, result = pcall(report, args.location)
        if ok then
            ctx:complete(result)
        else
            ctx:fail(result)
        end
    end,
})
