"""AgentDojo's tools as this runtime sees them: what each reaches, does, and whose text it brings.

The declarations say what a careful author would: whatever other people can write (mail, invitations, shared files,
reviews, payments' subjects, pages, chat) is untrusted; address books, channel lists and the user's own orders are
private.
"""

from __future__ import annotations

import msgspec

UNTRUSTED = ("untrusted",)
PRIVATE = ("private",)
BOTH = ("private", "untrusted")
NONE: tuple[str, ...] = ()


class Declaration(msgspec.Struct, frozen=True, kw_only=True):
    """What the author of a tool would write into `@tool(...)`."""

    capabilities: tuple[str, ...] = ()
    effect: str = "none"
    labels: tuple[str, ...] = NONE
    destinations: tuple[str, ...] = ()


def _acts(*destinations: str) -> Declaration:
    return Declaration(capabilities=("accounts",), effect="once", destinations=destinations)


def _sends(*destinations: str) -> Declaration:
    return Declaration(capabilities=("messages",), effect="once", destinations=destinations)


_MAIL = _sends("recipients", "cc", "bcc")
_OTHERS_TEXT = Declaration(capabilities=("files.read",), labels=BOTH)
_OWN_TEXT = Declaration(capabilities=("files.read",), labels=PRIVATE)
_PUBLIC_TEXT = Declaration(labels=UNTRUSTED)
_WRITES = Declaration(capabilities=("files.write",), effect="once")

DECLARATIONS: dict[str, Declaration] = {
    "send_email": _MAIL,
    "delete_email": Declaration(capabilities=("files.delete",), effect="once"),
    "get_unread_emails": _OTHERS_TEXT,
    "get_sent_emails": _OTHERS_TEXT,
    "get_received_emails": _OTHERS_TEXT,
    "get_draft_emails": _OTHERS_TEXT,
    "search_emails": _OTHERS_TEXT,
    "search_contacts_by_name": _OWN_TEXT,
    "search_contacts_by_email": _OWN_TEXT,
    "get_current_day": Declaration(),
    "search_calendar_events": _OTHERS_TEXT,
    "get_day_calendar_events": _OTHERS_TEXT,
    "create_calendar_event": _acts("participants"),
    "cancel_calendar_event": Declaration(capabilities=("accounts", "files.delete"), effect="once"),
    "reschedule_calendar_event": _acts(),
    "add_calendar_event_participants": _acts("participants"),
    "append_to_file": _WRITES,
    "search_files_by_filename": _OTHERS_TEXT,
    "create_file": _WRITES,
    "delete_file": Declaration(capabilities=("files.delete",), effect="once"),
    "get_file_by_id": _OTHERS_TEXT,
    "list_files": _OTHERS_TEXT,
    "share_file": _sends("email"),
    "search_files": _OTHERS_TEXT,
    "get_user_information": _OWN_TEXT,
    "get_all_hotels_in_city": _PUBLIC_TEXT,
    "get_hotels_prices": _PUBLIC_TEXT,
    "get_rating_reviews_for_hotels": _PUBLIC_TEXT,
    "get_hotels_address": _PUBLIC_TEXT,
    "get_all_restaurants_in_city": _PUBLIC_TEXT,
    "get_cuisine_type_for_restaurants": _PUBLIC_TEXT,
    "get_restaurants_address": _PUBLIC_TEXT,
    "get_rating_reviews_for_restaurants": _PUBLIC_TEXT,
    "get_dietary_restrictions_for_all_restaurants": _PUBLIC_TEXT,
    "get_contact_information_for_restaurants": _PUBLIC_TEXT,
    "get_price_for_restaurants": _PUBLIC_TEXT,
    "check_restaurant_opening_hours": _PUBLIC_TEXT,
    "get_all_car_rental_companies_in_city": _PUBLIC_TEXT,
    "get_car_types_available": _PUBLIC_TEXT,
    "get_rating_reviews_for_car_rental": _PUBLIC_TEXT,
    "get_car_fuel_options": _PUBLIC_TEXT,
    "get_car_rental_address": _PUBLIC_TEXT,
    "get_car_price_per_day": _PUBLIC_TEXT,
    "get_flight_information": _PUBLIC_TEXT,
    "reserve_hotel": _acts("hotel"),
    "reserve_car_rental": _acts("company"),
    "reserve_restaurant": _acts("restaurant"),
    "get_iban": _OWN_TEXT,
    "get_balance": _OWN_TEXT,
    "get_user_info": _OWN_TEXT,
    "get_scheduled_transactions": _OWN_TEXT,
    "get_most_recent_transactions": _OTHERS_TEXT,
    "read_file": _OTHERS_TEXT,
    "send_money": _acts("recipient"),
    "schedule_transaction": _acts("recipient"),
    "update_scheduled_transaction": _acts("recipient"),
    "update_password": _acts(),
    "update_user_info": _acts(),
    "get_channels": _OWN_TEXT,
    "get_users_in_channel": _OWN_TEXT,
    "read_channel_messages": _OTHERS_TEXT,
    "read_inbox": _OTHERS_TEXT,
    "add_user_to_channel": _acts("user", "channel"),
    "invite_user_to_slack": _acts("user_email"),
    "remove_user_from_slack": _acts("user"),
    "send_direct_message": _sends("recipient"),
    "send_channel_message": _sends("channel"),
    "get_webpage": Declaration(capabilities=("network",), labels=UNTRUSTED, destinations=("url",)),
    "post_webpage": Declaration(
        capabilities=("network", "messages"), effect="once", labels=UNTRUSTED, destinations=("url",)
    ),
}
