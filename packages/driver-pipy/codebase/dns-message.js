// Messages of DNS (RFC 1035), as lists of bytes: what is asked, and answers that the sidecar gives itself.

import { closeness } from './hosts.js'

// Types of questions.
var A = 1
var ANY = 255
var OPT = 41
var IN = 1

/** What can go wrong, by the names that RFC 1035 has for it. */
export var FORMAT_ERROR = 1
export var SERVER_FAILURE = 2
export var NOT_IMPLEMENTED = 4

var HEADER = 12
// Length of a record with an address of IPv4.
var RECORD = 16
// What every resolver takes, and what is sent at most to those that say that they take more.
var LEAST_SIZE = 512
var MOST_SIZE = 1232

/**
 * Reads a question.
 *
 * @returns {unknown} `{ id, isRecursive, name, type, isInternet, end, size, hasOptions, error }`: the name in lower case without its last dot; `end` is where the
 *   question ends; `size` is how long an answer may be; `error` says that there can be no answer but that. Undefined for what is no question at all.
 */
export function readQuestion(bytes) {
  if (bytes.length < HEADER || bytes[2] >= 128) return undefined
  var question = {
    id: word(bytes, 0),
    isRecursive: bytes[2] % 2 === 1,
    name: '',
    type: 0,
    isInternet: false,
    end: HEADER,
    size: LEAST_SIZE,
    hasOptions: false,
    error: 0,
  }
  // Standard queries have the code 0.
  if ((bytes[2] >> 3) % 16 !== 0) return failed(question, NOT_IMPLEMENTED)
  if (word(bytes, 4) !== 1 || word(bytes, 6) !== 0) return failed(question, FORMAT_ERROR)
  var labels = []
  var at = HEADER
  for (var length = bytes[at]; length > 0 && length < 64; length = bytes[at]) {
    if (at + length >= bytes.length || at + length > HEADER + 254) return failed(question, FORMAT_ERROR)
    labels.push(textOf(bytes, at + 1, length))
    at = at + length + 1
  }
  // A name has to end, and in questions it refers to no other.
  if (bytes[at] !== 0 || at + 5 > bytes.length) return failed(question, FORMAT_ERROR)
  question.name = labels.join('.').toLowerCase()
  question.type = word(bytes, at + 1)
  question.isInternet = word(bytes, at + 3) === IN
  question.end = at + 5
  readOptions(question, bytes)
  return question
}

/** Whether an answer of a server is one to the question. */
export function isAnswerTo(bytes, asked, question) {
  if (bytes.length < HEADER || bytes[2] < 128 || word(bytes, 0) !== question.id) return false
  if (bytes.length < question.end || word(bytes, 4) !== 1) return false
  for (var at = HEADER; at < question.end; at = at + 1) {
    if (lower(bytes[at]) !== lower(asked[at])) return false
  }
  return true
}

/** An answer that says why there is none. */
export function failureOf(asked, question, code) {
  // What could not be read is not sent back.
  var count = question.end > HEADER ? 1 : 0
  return header(asked, question, code, count, 0).concat(asked.slice(HEADER, question.end), options(question))
}

/**
 * An answer with addresses, as many as there is room for: any of them will do. Who requests anything else than addresses of IPv4 is told that there is nothing.
 *
 * @param first - which address comes first, so that callers take turns
 */
export function answerOf(asked, question, addresses, ttlSeconds, first) {
  var isWanted = question.isInternet && (question.type === A || question.type === ANY)
  var tail = options(question)
  var room = Math.floor((question.size - question.end - tail.length) / RECORD)
  var count = isWanted ? Math.min(room, addresses.length) : 0
  var records = []
  for (var i = 0; i < count; i = i + 1) {
    // The name is that of the question.
    records = records.concat(
      [192, HEADER, 0, A, 0, IN],
      [ttlSeconds >> 24, (ttlSeconds >> 16) % 256, (ttlSeconds >> 8) % 256, ttlSeconds % 256],
      [0, 4],
      addresses[(i + first) % addresses.length],
    )
  }
  return header(asked, question, 0, 1, count).concat(asked.slice(HEADER, question.end), records, tail)
}

/**
 * Records by name, for finding them: `exact` ones, and patterns `*.<domain>`.
 *
 * @param records - `[{ name, addresses }]`, the addresses of IPv4 as texts
 * @returns {unknown} what findName takes; addresses are lists of bytes
 */
export function makeNames(records) {
  var names = { exact: {}, patterns: [] }
  records.forEach((record) => {
    var found = {
      name: record.name,
      addresses: record.addresses.map((address) => address.split('.').map((part) => +part)),
    }
    if (record.name.startsWith('*')) names.patterns.push(found)
    // With the last dot: no name is that of something else that an object has.
    else names.exact[record.name + '.'] = found
  })
  return names
}

/** The record of a name, or of the closest pattern; undefined if others know it. */
export function findName(names, name) {
  var exact = names.exact[name + '.']
  if (exact) return exact
  var best = undefined
  var most = 0
  names.patterns.forEach((record) => {
    var near = closeness(record.name, name)
    if (near <= most) return
    most = near
    best = record
  })
  return best
}

// Recursion is available: what is not known here is asked elsewhere.
function header(asked, question, code, questions, answers) {
  var hasOptions = question.hasOptions ? 1 : 0
  return [
    asked[0],
    asked[1],
    question.isRecursive ? 129 : 128,
    128 + code,
    0,
    questions,
    0,
    answers,
    0,
    0,
    0,
    hasOptions,
  ]
}

/** Nameservers in a file of resolvers. */
export function serversIn(text) {
  return text
    .split('\n')
    .map((line) => line.trim().replaceAll('\t', ' ').split(' '))
    .filter((words) => words[0] === 'nameserver')
    .map((words) => words.find((word, index) => index > 0 && word !== ''))
    .filter((server) => server !== undefined)
}

function failed(question, error) {
  question.error = error
  return question
}

// What a caller says of itself by a pseudo record (RFC 6891).
function readOptions(question, bytes) {
  var at = question.end
  if (word(bytes, 8) !== 0 || word(bytes, 10) === 0 || at + 11 > bytes.length) return
  if (bytes[at] !== 0 || word(bytes, at + 1) !== OPT) return
  question.hasOptions = true
  question.size = Math.min(MOST_SIZE, Math.max(LEAST_SIZE, word(bytes, at + 3)))
}

function options(question) {
  return question.hasOptions ? [0, 0, OPT, MOST_SIZE >> 8, MOST_SIZE % 256, 0, 0, 0, 0, 0, 0] : []
}

function word(bytes, at) {
  return bytes[at] * 256 + bytes[at + 1]
}

// Names are ASCII; whatever else is there is told from all names.
function textOf(bytes, at, length) {
  return bytes
    .slice(at, at + length)
    .map((byte) => (byte > 32 && byte < 127 && byte !== DOT ? ASCII.charAt(byte - 33) : '?'))
    .join('')
}

var DOT = 46
var ASCII = '!"#$%&\'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~'

function lower(byte) {
  return byte > 64 && byte < 91 ? byte + 32 : byte
}
