"""The addresses of notices by REST, and what was sent there. For owners."""

from rest_framework.views import APIView

from teams_app import selectors
from teams_app.api.endpoints import Call, operation, read_id
from teams_app.api.shapes import (
    AddedEndpointAnswer,
    DeliveryAnswer,
    EndpointAnswer,
    EndpointBody,
    EndpointKindsBody,
    EndpointsAnswer,
)
from teams_app.engine.ids import Prefix
from teams_app.engine.pages import Page
from teams_app.services import deliveries, webhooks


class EndpointsView(APIView):
    @operation(summary="Where notices of the team go, and which. For owners")
    def get(self, *, call: Call) -> EndpointsAnswer:
        return EndpointsAnswer(items=[EndpointAnswer.of(one) for one in selectors.list_endpoints(actor=call.actor)])

    @operation(summary="Send notices to another https URL; the secret that signs them is shown this once", status=201)
    def post(self, *, call: Call, body: EndpointBody) -> AddedEndpointAnswer:
        added = webhooks.add_endpoint(actor=call.actor, url=body.url, kinds=body.kinds, now=call.now)
        return AddedEndpointAnswer.of(added)


class EndpointView(APIView):
    @operation(summary="One address of notices")
    def get(self, *, call: Call, endpoint: str) -> EndpointAnswer:
        endpoint_id = read_id(prefix=Prefix.ENDPOINT, text=endpoint)
        return EndpointAnswer.of(selectors.read_endpoint(actor=call.actor, endpoint_id=endpoint_id))

    @operation(summary="Choose the notices that are sent there")
    def patch(self, *, call: Call, endpoint: str, body: EndpointKindsBody) -> EndpointAnswer:
        endpoint_id = read_id(prefix=Prefix.ENDPOINT, text=endpoint)
        changed = webhooks.choose_notices(actor=call.actor, endpoint_id=endpoint_id, kinds=body.kinds, now=call.now)
        return EndpointAnswer.of(changed)

    @operation(summary="Send nothing there any more", status=204)
    def delete(self, *, call: Call, endpoint: str) -> None:
        endpoint_id = read_id(prefix=Prefix.ENDPOINT, text=endpoint)
        webhooks.remove_endpoint(actor=call.actor, endpoint_id=endpoint_id, now=call.now)


class EndpointSwitchView(APIView):
    @operation(summary="Call an address again that was switched off, and send what waited for it")
    def post(self, *, call: Call, endpoint: str) -> EndpointAnswer:
        endpoint_id = read_id(prefix=Prefix.ENDPOINT, text=endpoint)
        return EndpointAnswer.of(webhooks.switch_on(actor=call.actor, endpoint_id=endpoint_id, now=call.now))


class DeliveriesView(APIView):
    @operation(summary="What was sent, or is to be sent, to an address: the newest first, for thirty days")
    def get(self, *, call: Call, endpoint: str) -> Page[DeliveryAnswer]:
        endpoint_id = read_id(prefix=Prefix.ENDPOINT, text=endpoint)
        found = selectors.list_deliveries(actor=call.actor, endpoint_id=endpoint_id, page=call.page)
        return found.map(DeliveryAnswer.of)


class RedeliveryView(APIView):
    @operation(summary="Send a notice to its address again", status=202)
    def post(self, *, call: Call, delivery: str) -> DeliveryAnswer:
        delivery_id = read_id(prefix=Prefix.DELIVERY, text=delivery)
        return DeliveryAnswer.of(deliveries.redeliver(actor=call.actor, delivery_id=delivery_id, now=call.now))
