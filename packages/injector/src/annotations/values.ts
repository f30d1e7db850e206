import { switchWords } from '@osm-ts/core'
import { checkInterception, listLimits, parseIpRange } from '@osm-ts/interception'

import { annotationError, type AnnotationOwner, shown } from './annotation.js'

/**
 * Reads a switch in one of OSM's words; undefined where there is none.
 *
 * @throws OsmError `OSM_INJECT_ANNOTATION`
 */
export function readSwitch(text: string | undefined, name: string, owner: AnnotationOwner): boolean | undefined {
  if (text === undefined) return undefined
  const value = switchWords.get(text.toLowerCase())
  if (value === undefined)
    throw annotationError(owner, name, `${shown(text)} is not one of ${[...switchWords.keys()].join(', ')}`)
  return value
}

const PORT = /^[1-9][0-9]{0,4}$/

/**
 * Reads a list of ports such as `6060, 7070`.
 *
 * @throws OsmError `OSM_INJECT_ANNOTATION`
 */
export function readPorts(text: string | undefined, name: string, owner: AnnotationOwner): readonly number[] {
  return items(text, name, owner, listLimits.ports).map((item) => {
    const port = PORT.test(item) ? Number(item) : 0
    if (port >= 1 && port <= 65535) return port
    throw annotationError(
      owner,
      name,
      `${shown(item)} is not a port; write whole numbers from 1 to 65535, separated by commas`,
    )
  })
}

/**
 * Reads a list of address ranges of either family.
 *
 * @returns ranges in canonical form
 * @throws OsmError `OSM_INJECT_ANNOTATION`
 */
export function readIpRanges(text: string | undefined, name: string, owner: AnnotationOwner): readonly string[] {
  return items(text, name, owner, listLimits.ranges).map((item) => {
    const range = parseIpRange(item)
    if (range !== undefined) return range.text
    throw annotationError(
      owner,
      name,
      `${shown(item)} is not an address range; write such as 10.0.0.0/8, 192.0.2.7/32 or fd00::/8, separated by commas`,
    )
  })
}

/**
 * Reads a list of network interfaces.
 *
 * @throws OsmError `OSM_INJECT_ANNOTATION`
 */
export function readInterfaces(text: string | undefined, name: string, owner: AnnotationOwner): readonly string[] {
  const names = items(text, name, owner, listLimits.interfaces)
  for (const item of names) {
    const checked = checkInterception({ interfaceExclusions: [item] })
    if (!checked.ok) throw annotationError(owner, name, checked.problems[0].message)
  }
  return names
}

/** Blanks around items are left out, as OSM does; an empty text is an empty list, and an empty item a mistake. */
function items(text: string | undefined, name: string, owner: AnnotationOwner, limit: number): readonly string[] {
  if (text === undefined || text.trim() === '') return []
  // One more than the limit shows that there are too many, whatever the length of the text.
  const split = text.split(',', limit + 1)
  if (split.length > limit)
    throw annotationError(owner, name, `has more than ${limit} entries; merge neighbouring ones, or use MeshConfig`)
  return split.map((item) => item.trim())
}
