// Conditions of requests. What is not understood does not hold.

import { matchesTable } from './regex.js'

/** True if a text fulfils a condition of the configuration. */
export function matchesText(match, text) {
  if (match.exact !== undefined) return text === match.exact
  if (match.prefix !== undefined) return text.startsWith(match.prefix)
  if (match.segments !== undefined) return (text + '/').startsWith(match.segments + '/')
  if (match.regex !== undefined) return matchesTable(match.regex, text)
  return match.present === true
}

/** True if all conditions hold for a request: `{ path, query, method, authority, scheme, headers }`, the path without its query. */
export function matchesRequest(match, request) {
  if (match.path !== undefined && !matchesText(match.path, request.path)) return false
  if (match.methods !== undefined && !match.methods.includes(request.method)) return false
  if (match.query !== undefined && !match.query.every((each) => matchesParameter(each, request.query))) return false
  if (match.headers !== undefined) return match.headers.every((header) => matchesHeader(header, request))
  return true
}

/** True if all that a list of conditions looks at is the method and the path of a request. */
export function looksAtPathsOnly(list) {
  return list.every((element) => element.match.headers === undefined && element.match.query === undefined)
}

/** True if a condition holds for other ways to read the path of a request too. What is compared as text names the very path that is sent. */
export function matchesReadings(match, readings) {
  if (match.path === undefined || match.path.exact !== undefined) return true
  return readings.every((path) => matchesText(match.path, path))
}

// A missing header fulfils nothing, inverted or not, unless it is to be missing.
function matchesHeader(header, request) {
  var value = headerValue(header.name, request)
  if (header.match.present === true) return (value !== undefined) !== (header.invert === true)
  if (value === undefined) return false
  return matchesText(header.match, value) !== (header.invert === true)
}

// A missing parameter fulfils nothing.
function matchesParameter(parameter, query) {
  var value = queryValue(parameter.name, query)
  return value !== undefined && matchesText(parameter.match, value)
}

// The first value of a parameter in a query, which begins with `?` or is empty. Nothing is decoded. Undefined if there is no such parameter.
function queryValue(name, query) {
  var parts = query.substring(1).split('&')
  for (var i = 0; i < parts.length; i = i + 1) {
    var part = parts[i]
    var at = part.indexOf('=')
    if ((at < 0 ? part : part.substring(0, at)) === name) return at < 0 ? '' : part.substring(at + 1)
  }
  return undefined
}

/** The value of a header, or of a pseudo header; one that is repeated is one value, joined by commas, as it is to applications. */
export function headerValue(name, request) {
  if (name === ':method') return request.method
  if (name === ':path') return request.fullPath
  if (name === ':authority' || name === 'host') return request.authority
  if (name === ':scheme') return request.scheme
  var value = request.headers[name]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string') return value
  // Objects have properties of their own, such as `constructor`.
  return value.join ? value.join(',') : undefined
}

/** The first element of a list whose condition holds, or undefined. */
export function firstMatch(list, request) {
  for (var i = 0; i < list.length; i = i + 1) {
    if (matchesRequest(list[i].match, request)) return list[i]
  }
  return undefined
}
