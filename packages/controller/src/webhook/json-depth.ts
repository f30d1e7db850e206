const [QUOTE, BACKSLASH, OPEN_LIST, OPEN_OBJECT, CLOSE_LIST, CLOSE_OBJECT] = [0x22, 0x5c, 0x5b, 0x7b, 0x5d, 0x7d]

/**
 * True if lists and objects of a JSON text stand inside each other deeper than the limit. Looks at octets only: whatever walks a parsed value calls itself for
 * each level, so that depth has to be known before.
 */
export function isDeeperThan(json: Uint8Array, limit: number): boolean {
  let depth = 0
  let isText = false
  for (let index = 0; index < json.length; index += 1) {
    const octet = json[index]
    if (isText) {
      if (octet === BACKSLASH) index += 1
      else if (octet === QUOTE) isText = false
    } else if (octet === QUOTE) isText = true
    else if (octet === OPEN_OBJECT || octet === OPEN_LIST) {
      depth += 1
      if (depth > limit) return true
    } else if (octet === CLOSE_OBJECT || octet === CLOSE_LIST) depth -= 1
  }
  return false
}
