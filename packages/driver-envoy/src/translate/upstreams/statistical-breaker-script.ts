/**
 * The program of statistical breakers, for Envoy's Lua filter. It is the same for every proxy: what users write is data that it reads as the context of a
 * route, never a part of it.
 *
 * Each worker has its own state. All times are milliseconds of the wall clock: a clock that is set back ends every span, so that no circuit stays open.
 */
export const statisticalBreakerScript = `-- Breaks circuits on statistics of answers. What users write comes as data only.
local NAMESPACE = "osm.circuit-breaker"

-- Codes of gRPC that stand for statuses from 500 on.
local GRPC_FAILURES = { ["2"] = true, ["4"] = true, ["12"] = true, ["13"] = true, ["14"] = true, ["15"] = true }

-- By upstream: when the circuit was opened, or when it was closed and what came since the window began.
local circuits = {}

local function closed(at, now)
  return { closed = at, began = now, total = 0, slow = 0, failed = 0 }
end

local function within(now, since, span)
  return now >= since and now - since < span
end

local function is_grpc(headers)
  local content = headers:get("content-type")
  return content ~= nil and (content == "application/grpc" or content:find("^application/grpc%+") ~= nil)
end

local function reached(count, total, amount, ratio)
  return (amount ~= nil and count >= amount) or (ratio ~= nil and count / total >= ratio)
end

function envoy_on_request(handle)
  local context = handle:filterContext()
  local settings = context:get("breaker")
  if settings == nil then return end
  local now = handle:timestamp()
  local circuit = circuits[settings.upstream]
  if circuit ~= nil and circuit.opened ~= nil then
    if within(now, circuit.opened, settings.degradedWindowMs) then
      -- To a caller by gRPC the status is a code, and what is said by it is: try again later.
      local status = is_grpc(handle:headers()) and "503" or context:get("status")
      handle:respond({ [":status"] = status }, context:get("body"))
      return
    end
    circuits[settings.upstream] = closed(now, now)
  end
  handle:streamInfo():dynamicMetadata():set(NAMESPACE, "sent", now)
end

function envoy_on_response(handle)
  local settings = handle:filterContext():get("breaker")
  local mark = handle:streamInfo():dynamicMetadata():get(NAMESPACE)
  if settings == nil or mark == nil then return end
  local sent = mark.sent
  local headers = handle:headers()
  local slow = settings.slowThresholdMs ~= nil and handle:timestamp() - sent >= settings.slowThresholdMs
  local failed = tonumber(headers:get(":status")) >= 500
  if is_grpc(headers) then
    local code = headers:get("grpc-status")
    if code == nil then
      -- Lets everything pass meanwhile.
      local trailers = handle:trailers()
      code = trailers ~= nil and trailers:get("grpc-status") or nil
    end
    failed = failed or GRPC_FAILURES[code or ""] == true
  end

  local now = handle:timestamp()
  local circuit = circuits[settings.upstream]
  if circuit == nil then
    circuit = closed(0, now)
    circuits[settings.upstream] = circuit
  end
  -- What was asked before the circuit was closed says nothing about the time after.
  if circuit.opened ~= nil or (sent < circuit.closed and circuit.closed <= now) then return end
  if not within(now, circuit.began, settings.statWindowMs) then
    circuit.began, circuit.total, circuit.slow, circuit.failed = now, 0, 0, 0
  end
  circuit.total = circuit.total + 1
  if slow then circuit.slow = circuit.slow + 1 end
  if failed then circuit.failed = circuit.failed + 1 end
  if circuit.total >= settings.minRequests and (
    reached(circuit.slow, circuit.total, settings.slowAmount, settings.slowRatio) or
    reached(circuit.failed, circuit.total, settings.errorAmount, settings.errorRatio)
  ) then
    circuits[settings.upstream] = { opened = now }
  end
end
`
