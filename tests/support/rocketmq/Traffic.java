import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;

/**
 * A stock producer and a stock consumer: arguments are the name servers, the topic and the number
 * of messages. Says how many were acknowledged and how many different ones have arrived. With a
 * fourth one, a group of consumers, nothing is sent: what was sent before arrives there.
 */
public class Traffic {
    static final Set<String> ARRIVED = ConcurrentHashMap.newKeySet();

    public static void main(String[] arguments) throws Exception {
        String topic = arguments[1];
        int messages = Integer.parseInt(arguments[2]);
        boolean sends = arguments.length < 4;
        String group = sends ? "traffic-consumer" : arguments[3];
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(arguments[0]);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setPollNameServerInterval(1_000);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (batch, context) -> {
            batch.forEach(each -> ARRIVED.add(new String(each.getBody())));
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        DefaultMQProducer producer = new DefaultMQProducer("traffic-producer");
        producer.setNamesrvAddr(arguments[0]);
        producer.setPollNameServerInterval(1_000);
        producer.setSendMsgTimeout(2_000);
        producer.start();
        consumer.start();
        System.out.println("traffic ready");
        for (int sent = sends ? 0 : messages; sent < messages; ) {
            try {
                Message message = new Message(topic, String.valueOf(sent).getBytes());
                if (producer.send(message).getSendStatus() == SendStatus.SEND_OK) {
                    sent++;
                }
            } catch (Exception failed) {
                System.out.println("failed at " + sent + ": " + failed);
                Thread.sleep(100);
                continue;
            }
            if (sent % 500 == 0) {
                System.out.println("sent " + sent);
            }
        }
        while (ARRIVED.size() < messages) {
            Thread.sleep(20);
        }
        System.out.println("arrived " + ARRIVED.size());
        System.exit(0);
    }
}
