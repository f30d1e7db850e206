// Token buckets.

/** A full bucket. */
export function makeBucket(settings, now) {
  var size = settings.tokens + settings.burst
  return { settings, size, left: size, filled: now }
}

/** Takes a token. False if there is none. */
export function takeToken(bucket, now) {
  var rounds = Math.floor((now - bucket.filled) / bucket.settings.intervalMs)
  if (rounds > 0) {
    bucket.left = Math.min(bucket.size, bucket.left + rounds * bucket.settings.tokens)
    bucket.filled = bucket.filled + rounds * bucket.settings.intervalMs
  }
  if (bucket.left < 1) return false
  bucket.left = bucket.left - 1
  return true
}
