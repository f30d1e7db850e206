import { formatPercent } from '../output/format.js'
import { renderSpans, span } from '../output/style.js'
import { renderTitle } from '../output/table.js'
import type { DemoReport } from './demo-report.js'

/** What was expected, and whether it held, for people. */
export function renderReport(report: DemoReport, color: boolean): readonly string[] {
  const line = (ok: boolean, text: string): string =>
    renderSpans([span(ok ? '  ✓ ' : '  ✗ ', ok ? 'good' : 'bad'), span(text)], color)
  const { expectations, split, mtls, proxies } = report
  return [
    renderTitle('EXPECTATIONS', 'compared with the observed traffic', color),
    ...expectations.map(({ client, target, path, outcome, requests, ok }) =>
      line(ok, `${client} → ${target} ${path} is ${outcome} (${requests} requests)`),
    ),
    ...split.flatMap(({ name, sample, backends }) =>
      backends.map(({ service, wanted, observed, tolerance, ok }) =>
        line(
          ok,
          `split ${name}: ${service} got ${formatPercent(observed, 1)} of ${sample}, wanted ${formatPercent(wanted)} ± ${formatPercent(tolerance, 1)}`,
        ),
      ),
    ),
    line(
      mtls.ok,
      `mTLS: ${mtls.identities.length} certificates have the right identity; ${mtls.handshakes.length} ports refuse plaintext and clients without a certificate`,
    ),
    line(
      proxies.every(({ state, rejected }) => state === 'applied' && rejected === 0),
      `${proxies.length} proxies have applied their configuration, ${report.convergenceMs} ms after the last one connected`,
    ),
    line(report.leftovers.length === 0, 'no process is left behind'),
    ...report.failures.map((failure) => renderSpans([span(`  ${failure}`, 'bad')], color)),
    renderSpans(
      [report.ok ? span('All expectations held.', 'good') : span('Not all expectations held.', 'bad')],
      color,
    ),
  ]
}
