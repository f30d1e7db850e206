/** @typedef {import('./files.mjs').Slot} Slot */

/**
 * The places of a running HAProxy after endpoints have changed: an endpoint that stays keeps its place, so that its connections stay too.
 * @param {readonly Slot[]} running
 * @param {readonly Slot[]} wanted of the same sections and servers
 * @returns {readonly Slot[]}
 */
export function seat(running, wanted) {
  const sections = new Map(running.map(({ section }) => [section, /** @type {Slot[]} */ ([])]))
  for (const slot of running) sections.get(slot.section)?.push(slot)
  return [...sections].flatMap(([section, places]) => {
    const coming = new Map(
      wanted.flatMap((slot) =>
        slot.section === section && slot.endpoint !== undefined ? [[addressOf(slot), slot.endpoint]] : [],
      ),
    )
    const kept = places.map(({ server, endpoint }) => {
      const key = endpoint === undefined ? '' : addressOf({ endpoint })
      const stays = coming.get(key)
      coming.delete(key)
      return { section, server, ...(stays !== undefined && { endpoint: stays }) }
    })
    const newcomers = [...coming.values()]
    return kept.map((slot) => {
      if (slot.endpoint !== undefined) return slot
      const endpoint = newcomers.shift()
      return endpoint === undefined ? slot : { ...slot, endpoint }
    })
  })
}

/**
 * Commands of the runtime interface that lead from one state to the other, with what HAProxy answers if it does as it is told.
 * @param {readonly Slot[]} running
 * @param {readonly Slot[]} seated the same places
 */
export function commandsFor(running, seated) {
  return seated.flatMap((slot, index) => {
    const before = running[index]?.endpoint
    const { section, server, endpoint } = slot
    const name = `${section}/${server}`
    if (endpoint === undefined)
      return before === undefined ? [] : [{ command: `set server ${name} state maint`, answer: /^$/ }]
    const { address, port, weight } = endpoint
    const moved = before === undefined || before.address !== address || before.port !== port
    return [
      ...(moved
        ? [{ command: `set server ${name} addr ${address} port ${port}`, answer: /changed|no need to change/ }]
        : []),
      ...(before?.weight === weight ? [] : [{ command: `set server ${name} weight ${weight}`, answer: /^$/ }]),
      ...(before === undefined ? [{ command: `set server ${name} state ready`, answer: /^$/ }] : []),
    ]
  })
}

/** @param {Pick<Slot, 'endpoint'>} slot */
function addressOf({ endpoint }) {
  return endpoint === undefined ? '' : `${endpoint.address}:${endpoint.port}`
}
