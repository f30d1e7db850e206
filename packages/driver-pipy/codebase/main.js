// The sidecar of class pipy. All that differs from sidecar to sidecar comes by the config channel; where that is is in the environment:
//
// OSM_PIPY_CHANNEL      host:port of the control plane
// OSM_PIPY_SERVER_NAME  DNS name that its certificate must have
// OSM_PIPY_CERTIFICATE  file with the certificate that this sidecar shows to it, and after it those between it and the root
// OSM_PIPY_KEY          file with the key of that certificate
// OSM_PIPY_ROOTS        file with the root that has signed the certificate of the control plane
// OSM_PIPY_ADMIN        address:port of the administration interface, on loopback
// OSM_PIPY_INIT_WRAPPER       process that ends the container, see end.js; absent outside of containers

import { startActiveChecks } from './active-checks.js'
import { serveAdmin } from './admin.js'
import { startChannel } from './config-channel.js'
import { watchKeeper } from './end.js'

pipy.listen(os.env.OSM_PIPY_ADMIN, serveAdmin)
watchKeeper()
startActiveChecks()

startChannel({
  host: os.env.OSM_PIPY_CHANNEL,
  serverName: os.env.OSM_PIPY_SERVER_NAME,
  path: '/config',
  certificate: os.env.OSM_PIPY_CERTIFICATE,
  key: os.env.OSM_PIPY_KEY,
  roots: os.env.OSM_PIPY_ROOTS,
})
