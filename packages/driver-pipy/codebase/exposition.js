// Text of Prometheus.

/** The value of a label between quotation marks. */
export function escapeLabel(text) {
  return ('' + text).replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

/** Lines of a histogram: `{ buckets, sum, count }`, the buckets by their limit. */
export function histogramLines(name, labels, limits, series) {
  var lines = limits.map((limit) => name + '_bucket{' + labels + ',le="' + limit + '"} ' + (series.buckets[limit] || 0))
  return lines.concat([
    name + '_bucket{' + labels + ',le="+Inf"} ' + series.count,
    name + '_sum{' + labels + '} ' + series.sum,
    name + '_count{' + labels + '} ' + series.count,
  ])
}
