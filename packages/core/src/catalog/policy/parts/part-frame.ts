import { canonicalJson, hashCanonicalPart, type Part, type PartHash } from '@osm-ts/driver-api/policy'

import { deepFreeze, type Origins, type PolicyPart } from './policy-part.js'

/** A part that is known but for some references, which {@link PartFrame.complete} adds. */
export interface PartFrame<P extends Part, Member extends keyof P & string> {
  /** Frames with the same text give the same part for the same references. */
  readonly text: string
  /** The whole part, as `makePart` would give it; takes time for the references only. References that are undefined are left out. */
  readonly complete: (references: Readonly<Record<Member, PolicyPart | undefined>>) => PolicyPart<P>
}

/**
 * Freezes a part whose members of the given names are still to come, and writes down what of its canonical JSON is known.
 *
 * @param part - must not have these members
 * @param members - names of references by hash, each to be a member of the part or absent
 */
export function framePart<P extends Part, Member extends keyof P & string>(
  part: Omit<P, Member>,
  members: readonly Member[],
  more: { readonly origins: Origins; readonly children: readonly PolicyPart[] },
): PartFrame<P, Member> {
  deepFreeze(part)
  const fields: Readonly<Record<string, unknown>> = part
  const known = Object.keys(fields).filter((name) => fields[name] !== undefined)
  const places = [...known, ...members].sort().map((name) => {
    const member = members.find((candidate) => candidate === name)
    const value = member === undefined ? canonicalJson(fields[name]) : ''
    return { member, text: [JSON.stringify(name), value].join(':') }
  })
  // Neighbours that are known are in one piece, so that a part of twenty members is put together from a few. Texts are joined and not concatenated: V8 keeps a
  // concatenated text as a tree of its pieces.
  const pieces: { readonly member: Member | undefined; readonly text: string }[] = []
  for (const place of places) {
    const last = pieces.at(-1)
    if (place.member === undefined && last !== undefined && last.member === undefined)
      pieces[pieces.length - 1] = { member: undefined, text: [last.text, place.text].join(',') }
    else pieces.push(place)
  }
  return {
    text: pieces.map(({ text }) => text).join(','),
    complete: (references) => {
      const added: Partial<Record<Member, PartHash>> = {}
      const children = [...more.children]
      for (const member of members) {
        const reference = references[member]
        if (reference === undefined) continue
        added[member] = reference.hash
        children.push(reference)
      }
      let text = ''
      for (const { member, text: piece } of pieces) {
        const hash = member === undefined ? undefined : added[member]
        if (member !== undefined && hash === undefined) continue
        text += `${text === '' ? '' : ','}${piece}${hash === undefined ? '' : JSON.stringify(hash)}`
      }
      // The members that were missing are there now, or absent as the type allows.
      const whole = Object.freeze({ ...part, ...added }) as unknown as P
      return { hash: hashCanonicalPart(`{${text}}`), part: whole, origins: more.origins, children }
    },
  }
}
