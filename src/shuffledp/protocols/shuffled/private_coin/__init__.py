"""GGK+19 with private coins: messages of parities, decoded by linear algebra."""

from shuffledp.protocols.shuffled.private_coin.histogram import PrivateCoinHistogram

__all__ = ["PrivateCoinHistogram"]
