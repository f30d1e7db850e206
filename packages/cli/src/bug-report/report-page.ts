import type { Problem } from '@osm-ts/core'
import { formatProblem } from '@osm-ts/core'

import type { ReportEntry } from './report-archive.js'

/** What a report is about. */
export interface ReportFacts {
  /** RFC 3339. */
  readonly createdAt: string
  readonly version: string
  /** The mesh, in words. */
  readonly mesh: string
  readonly findings: readonly Problem[]
}

/** The page of a report: what was found, which files there are, and what was removed. */
export function renderReportPage(
  { createdAt, version, mesh, findings }: ReportFacts,
  entries: readonly ReportEntry[],
): string {
  const rows = entries.map(({ path, source, text, note = '' }) => {
    const name = text === undefined ? escapeHtml(path) : `<a href="${encodeURI(path)}">${escapeHtml(path)}</a>`
    return `<tr><td>${name}</td><td>${text === undefined ? '–' : text.length}</td><td><code>${escapeHtml(source)}</code></td><td>${escapeHtml(note)}</td></tr>`
  })
  const list = findings.map((finding) => `<li><code>${escapeHtml(formatProblem(finding))}</code></li>`)
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Bug report of ${escapeHtml(mesh)}</title>
<style>
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid #8884; padding: .3rem .6rem; text-align: left; vertical-align: top }
</style>
<h1>Bug report of ${escapeHtml(mesh)}</h1>
<p>Created ${escapeHtml(createdAt)} by osm ${escapeHtml(version)}.</p>
<h2>Findings</h2>
${list.length === 0 ? '<p>None.</p>' : `<ul>\n${list.join('\n')}\n</ul>`}
<h2>Files</h2>
<table>
<thead><tr><th>File</th><th>Characters</th><th>Source</th><th>Note</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table>
<h2>What was removed</h2>
<p>Data of Secrets, values of environment variables, private keys, JSON Web Tokens, credentials in headers and URLs, and values of fields that are
named like passwords or tokens. Logs of applications are not collected. Names, addresses and request paths are kept: look through the files before
you pass them on.</p>
</html>
`
}

function escapeHtml(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;')
}
