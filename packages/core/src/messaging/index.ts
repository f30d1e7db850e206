export { Broker, OVERFLOW_TOPIC, SUBSCRIPTION_CAPACITY } from './broker.js'
