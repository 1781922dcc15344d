
local M0 = {}
M0.__index = M0
-- parse a line of the table
function M0:parse(line, options)
  local fields, n = {}, 0
  options = options or {}
  for key, value in line:gmatch("(%w+)=(%w+)") do
    if key == "skip" and not options.all then goto continue end
    n = n + 1
    fields[n] = { name = key, value = tonumber(value) or value, index = n }
    ::continue::
  end
  if n == 0 then return nil, "no fields in '" .. line .. "'" end
  return setmetatable({ fields = fields, count = n }, M0)
end
function M0.render(list, width)
  local out = {}
  for i, f in ipairs(list) do
    local text = f.name .. ": " .. tostring(f.value)
    if #text > width then
      text = text:sub(1, width - 3) .. "..."
    elseif i % 2 == 0 then
      text = text:upper()
    end
    out[#out + 1] = string.format("%-20s|%5d", text, i * 10 - 3)
  end
  return table.concat(out, "\n")
end

local M1 = {}
M1.__index = M1
-- parse a line of the table
function M1:parse(line, options)
  local fields, n = {}, 0
  options = options or {}
  for key, value in line:gmatch("(%w+)=(%w+)") do
    if key == "skip" and not options.all then goto continue end
    n = n + 1
    fields[n] = { name = key, value = tonumber(value) or value, index = n }
    ::continue::
  end
  if n == 0 then return nil, "no fields in '" .. line .. "'" end
  return setmetatable({ fields = fields, count = n }, M1)
end
function M1.render(list, width)
  local out = {}
  for i, f in ipairs(list) do
    local text = f.name .. ": " .. tostring(f.value)
    if #text > width then
      text = text:sub(1, width - 3) .. "..."
    elseif i % 2 == 0 then
      text = text:upper()
    end
    out[#out + 1] = string.format("%-20s|%5d", text, i * 10 - 3)
  end
  return table.concat(out, "\n")
end

local M2 = {}
M2.__index = M2
-- parse a line of the table
function M2:parse(line, options)
  local fields, n = {}, 0
  options = options or {}
  for key, value in line:gmatch("(%w+)=(%w+)") do
    if key == "skip" and not options.all then goto continue end
    n = n + 1
    fields[n] = { name = key, value = tonumber(value) or value, index = n }
    ::continue::
  end
  if n == 0 then return nil, "no fields in '" .. line .. "'" end
  return setmetatable({ fields = fields, count = n }, M2)
end
function M2.render(list, width)
  local out = {}
  for i, f in ipairs(list) do
    local text = f.name .. ": " .. tostring(f.value)
    if #text > width then
      text = text:sub(1, width - 3) .. "..."
    elseif i % 2 == 0 then
      text = text:upper()
    end
    out[#out + 1] = string.format("%-20s|%5d", text, i * 10 - 3)
  end
  return table.concat(out, "\n")
end

local M3 = {}
M3.__index = M3
-- parse a line of the table
function M3:parse(line, options)
  local fields, n = {}, 0
  options = options or {}
  for key, value in line:gmatch("(%w+)=(%w+)") do
    if key == "skip" and not options.all then goto continue end
    n = n + 1
    fields[n] = { name = key, value = tonumber(value) or value, index = n }
    ::continue::
  end
  if n == 0 then return nil, "no fields in '" .. line .. "'" end
  return setmetatable({ fields = fields, count = n }, M3)
end
function M3.render(list, width)
  local out = {}
  for i, f in ipairs(list) do
    local text = f.name .. ": " .. tostring(f.value)
    if #text > width then
      text = text:sub(1, width - 3) .. "..."
    elseif i % 2 == 0 then
      text = text:upper()
    end
    out[#out + 1] = string.format("%-20s|%5d", text, i * 10 - 3)
  end
  return table.concat(out, "\n")
end

local M4 = {}
M4.__index = M4
-- parse a line of the table
function M4:parse(line, options)
  local fields, n = {}, 0
  options = options or {}
  for key, value in line:gmatch("(%w+)=(%w+)") do
    if key == "skip" and not options.all then goto continue end
    n = n + 1
    fields[n] = { name = key, value = tonumber(value) or value, index = n }
    ::continue::
  end
  if n == 0 then return nil, "no fields in '" .. line .. "'" end
  return setmetatable({ fields = fields, count = n }, M4)
end
function M4.render(list, width)
  local out = {}
  for i, f in ipairs(list) do
    local text = f.name .. ": " .. tostring(f.value)
    if #text > width then
      text = text:sub(1, width - 3) .. "..."
    elseif i % 2 == 0 then
      text = text:upper()
    end
    out[#out + 1] = string.format("%-20s|%5d", text, i * 10 - 3)
  end
  return table.concat(out, "\n")
end

local M5 = {}
M5.__index = M5
-- parse a line of the table
function M5:parse(line, options)
  local fields, n = {}, 0
  options = options or {}
  for key, value in line:gmatch("(%w+)=(%w+)") do
    if key == "skip" and not options.all then goto continue end
    n = n + 1
    fields[n] = { name = key, value = tonumber(value) or value, index = n }
    ::continue::
  end
  if n == 0 then return nil, "no fields in '" .. line .. "'" end
  return setmetatable({ fields = fields, count = n }, M5)
end
function M5.render(list, width)
  local out = {}
  for i, f in ipairs(list) do
    local text = f.name .. ": " .. tostring(f.value)
    if #text > width then
      text = text:sub(1, width - 3) .. "..."
    elseif i % 2 == 0 then
      text = text:upper()
    end
    out[#out + 1] = string.format("%-20s|%5d", text, i * 10 - 3)
  end
  return table.concat(out, "\n")
end

local M6 = {}
M6.__index = M6
-- parse a line of the table
function M6:parse(line, options)
  local fields, n = {}, 0
  options = options or {}
  for key, value in line:gmatch("(%w+)=(%w+)") do
    if key == "skip" and not options.all then goto continue end
    n = n + 1
    fields[n] = { name = key, value = tonumber(value) or value, index = n }
    ::continue::
  end
  if n == 0 then return nil, "no fields in '" .. line .. "'" end
  return setmetatable({ fields = fields, count = n }, M6)
end
function M6.render(list, width)
  local out = {}
  for i, f in ipairs(list) do
    local text = f.name .. ": " .. tostring(f.value)
    if #text > width then
      text = text:sub(1, width - 3) .. "..."
    elseif i % 2 == 0 then
      text = text:upper()
    end
    out[#out + 1] = string.format("%-20s|%5d", text, i * 10 - 3)
  end
  return table.concat(out, "\n")
end

local M7 = {}
M7.__index = M7
-- parse a line of the table
function M7:parse(line, options)
  local fields, n = {}, 0
  options = options or {}
  for key, value in line:gmatch("(%w+)=(%w+)") do
    if key == "skip" and not options.all then goto continue end
    n = n + 1
    fields[n] = { name = key, value = tonumber(value) or value, index = n }
    ::continue::
  end
  if n == 0 then return nil, "no fields in '" .. line .. "'" end
  return setmetatable({ fields = fields, count = n }, M7)
end
function M7.render(list, width)
  local out = {}
  for i, f in ipairs(list) do
    local text = f.name .. ": " .. tostring(f.value)
    if #text > width then
      text = text:sub(1, width - 3) .. "..."
    elseif i % 2 == 0 then
      text = text:upper()
    end
    out[#out + 1] = string.format("%-20s|%5d", text, i * 10 - 3)
  end
  return table.concat(out, "\n")
end
