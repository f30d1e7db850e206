// Connections of an upstream for HTTP: which of them a request gets, and what waits while there may be no more of them.
//
// A link is one connection. Pipy keeps a connection by a key, as long as somebody holds that key: a slot. So nothing that lives as long as the connection
// may refer to its slot, and a connection whose slot is forgotten ends by itself once nothing is under way on it.

/** No connections yet. `end` closes one that nothing is under way on. */
export function makePool(end) {
  return { end, open: 0, pending: 0, slots: [], waiting: [] }
}

/**
 * Requests a connection.
 *
 * @param wish - `{ key, address, capacity, isWhole, isSingle, limits, give(slot) }`: connections with equal keys are alike; so many requests share one; a
 *   whole one is shared with no one, a single one is no one's before and after. With a `gateway` it leads through that one. `limits` are the settings of the upstream. `give` is called later if there is none now.
 * @returns {unknown} a slot, `wait`, or `full`
 */
export function takeSlot(pool, wish) {
  var slot = shared(pool, wish)
  if (slot && slot.link.isConnected) return use(pool, slot, wish)
  if (wish.limits.maxPending !== undefined && pool.pending >= wish.limits.maxPending) return 'full'
  pool.pending = pool.pending + 1
  wish.isPending = true
  if (slot || hasRoom(pool, wish.limits)) return use(pool, slot || openSlot(pool, wish), wish)
  pool.waiting.push(wish)
  return 'wait'
}

/** Gives a slot back, or the wish for one up. A connection with something under way on it without a waiter is closed. */
export function leaveSlot(pool, wish, isDone) {
  settle(pool, wish)
  pool.waiting = pool.waiting.filter((each) => each !== wish)
  var slot = wish.slot
  if (slot) {
    wish.slot = undefined
    slot.active = slot.active - 1
    slot.isWhole = false
    slot.link.wishes = slot.link.wishes.filter((each) => each !== wish)
    // Pipy tells no server of a call that was given up: others must not be kept on a connection that has to end for it.
    if (!isDone) forget(pool, slot)
    if (slot.active === 0 && !pool.slots.includes(slot)) end(pool, slot.link)
  }
  serve(pool)
}

/**
 * A connection that no one shares, for what is no HTTP.
 *
 * @returns {unknown} its link, or undefined if there may be no more
 */
export function openLink(pool, limits, address, gateway) {
  if (limits.maxConnections !== undefined && pool.open >= limits.maxConnections) return undefined
  pool.open = pool.open + 1
  return newLink(address, gateway)
}

/** Ends a connection if nothing is under way on it. True if so. */
export function endIdle(pool, link) {
  var slot = pool.slots.find((each) => each.link === link && each.active === 0)
  if (!slot) return false
  forget(pool, slot)
  end(pool, link)
  return true
}

/** The connection is there. */
export function linkOpened(pool, link) {
  link.isConnected = true
  link.wishes.forEach((wish) => settle(pool, wish))
}

/** The connection is no more. */
export function linkClosed(pool, link) {
  if (link.isClosed) return
  link.isClosed = true
  pool.open = pool.open - 1
  pool.slots = pool.slots.filter((slot) => slot.link !== link)
  serve(pool)
}

function newLink(address, gateway) {
  return { address, gateway, isConnected: false, isClosed: false, wishes: [], cut: undefined }
}

function shared(pool, wish) {
  if (wish.isSingle) return undefined
  var found = undefined
  pool.slots.forEach((slot) => {
    if (slot.key !== wish.key || slot.isWhole || slot.active >= (wish.isWhole ? 1 : slot.capacity)) return
    // The youngest, so that others may grow old; one that is there rather than one that is being made.
    if (!found || slot.link.isConnected || !found.link.isConnected) found = slot
  })
  return found
}

function use(pool, slot, wish) {
  slot.active = slot.active + 1
  slot.isWhole = Boolean(wish.isWhole)
  slot.link.wishes.push(wish)
  if (slot.left !== undefined) slot.left = slot.left - 1
  if (slot.left === 0) forget(pool, slot)
  if (slot.link.isConnected) settle(pool, wish)
  wish.slot = slot
  return slot
}

function openSlot(pool, wish) {
  var left = wish.limits.maxRequestsPerConnection || undefined
  var slot = {
    key: wish.key,
    capacity: wish.capacity,
    active: 0,
    left,
    isWhole: false,
    link: newLink(wish.address, wish.gateway),
  }
  if (!wish.isSingle) pool.slots.push(slot)
  pool.open = pool.open + 1
  return slot
}

// An idle connection, of another endpoint then, makes room.
function hasRoom(pool, limits) {
  if (limits.maxConnections === undefined || pool.open < limits.maxConnections) return true
  var idle = pool.slots.find((slot) => slot.active === 0)
  if (!idle) return false
  endIdle(pool, idle.link)
  return pool.open < limits.maxConnections
}

function serve(pool) {
  for (var next = pool.waiting[0]; next && canServe(pool, next); next = pool.waiting[0]) {
    pool.waiting = pool.waiting.slice(1)
    next.give(use(pool, shared(pool, next) || openSlot(pool, next), next))
  }
}

function canServe(pool, wish) {
  return Boolean(shared(pool, wish)) || hasRoom(pool, wish.limits)
}

function settle(pool, wish) {
  if (!wish.isPending) return
  wish.isPending = false
  pool.pending = pool.pending - 1
}

function forget(pool, slot) {
  pool.slots = pool.slots.filter((each) => each !== slot)
}

// It counts as closed from now on: what waits need not wait for the end of what no one uses.
function end(pool, link) {
  if (link.isClosed) return
  link.isClosed = true
  pool.open = pool.open - 1
  pool.end(link)
}
