// Connections of an upstream for HTTP: which of them a request gets, and what waits while there may be no more of them.
//
// A link is one connection. Pipy keeps a connection by a key, as long as somebody holds that key: a slot. So nothing that lives as long as the connection
// may refer to its slot, and a connection whose slot is forgotten ends by itself once nothing is under way on it.

/** No connections yet. `end` closes one that nothing is under way on. */
export function makePool(end) {
  return { end, open: 0, pending: 0, slots: [], idle: {}, waiting: [] }
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
  if (wish.isPending) settle(pool, wish)
  if (pool.waiting.length > 0) pool.waiting = pool.waiting.filter((each) => each !== wish)
  var slot = wish.slot
  if (slot) {
    wish.slot = undefined
    slot.active = slot.active - 1
    slot.isWhole = false
    if (slot.active === 0) slot.link.wishes = []
    else slot.link.wishes = slot.link.wishes.filter((each) => each !== wish)
    // Pipy tells no server of a call that was given up: others must not be kept on a connection that has to end for it.
    if (!isDone) forget(pool, slot)
    if (slot.active === 0) {
      if (slot.isForgotten) end(pool, slot.link)
      else if (slot.capacity === 1) idleOf(pool, slot.key).push(slot)
    }
  }
  if (pool.waiting.length > 0) serve(pool)
}

/**
 * A connection that no one shares, for what is not HTTP.
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
  var slot = pool.slots.find((each) => each.link === link)
  if (slot) forget(pool, slot)
  serve(pool)
}

function newLink(address, gateway) {
  return {
    address,
    gateway,
    isConnected: false,
    // Bytes may follow: after the handshake, or through the tunnel.
    isReady: false,
    release: undefined,
    isClosed: false,
    wishes: [],
    cut: undefined,
  }
}

function shared(pool, wish) {
  if (wish.isSingle) return undefined
  // The one that was used last, so that others may grow old.
  if (wish.capacity === 1) {
    var idle = pool.idle[wish.key]
    return idle && idle.length > 0 ? idle[idle.length - 1] : undefined
  }
  var slots = pool.slots
  var most = wish.isWhole ? 1 : wish.capacity
  var found = undefined
  for (var i = slots.length - 1; i >= 0; i = i - 1) {
    var slot = slots[i]
    if (slot.active < most && !slot.isWhole && slot.key === wish.key) {
      // One that is there rather than one that is being made.
      if (slot.link.isConnected) return slot
      if (!found) found = slot
    }
  }
  return found
}

// Connections for one request at a time that have none, those last that were used last: they are found without a look at all others.
function idleOf(pool, key) {
  if (!pool.idle[key]) pool.idle[key] = []
  return pool.idle[key]
}

function use(pool, slot, wish) {
  if (slot.active === 0 && slot.capacity === 1) takeIdle(pool, slot)
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
    // Single ones are no one's before and after.
    isForgotten: Boolean(wish.isSingle),
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
  if (slot.isForgotten) return
  slot.isForgotten = true
  pool.slots = pool.slots.filter((each) => each !== slot)
  takeIdle(pool, slot)
}

// Nothing may refer to a slot that is forgotten.
function takeIdle(pool, slot) {
  var idle = pool.idle[slot.key]
  if (!idle) return
  if (idle[idle.length - 1] === slot) idle.pop()
  else pool.idle[slot.key] = idle.filter((each) => each !== slot)
  if (pool.idle[slot.key].length === 0) delete pool.idle[slot.key]
}

// It counts as closed from now on: what waits need not wait for the end of what no one uses.
function end(pool, link) {
  if (link.isClosed) return
  link.isClosed = true
  pool.open = pool.open - 1
  pool.end(link)
}
